/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A plugin of QEMU's user emulation (docs/devel/tcg-plugins.rst there): counts the instructions that a program executes
 * in ranges of addresses. `-plugin count.so,out=FILE,range=BEGIN-END,range=...`, in hexadecimal digits, of at most 256
 * ranges; the count is written to FILE at the end. Debian's packages have no header for plugins: what is used of it is
 * declared here.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint64_t qemu_plugin_id_t;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t id, struct qemu_plugin_tb *block));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, void (*callback)(unsigned cpu, void *data),
                                          enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t id, void *data), void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t at);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);

/* The version of the interface. */
extern int qemu_plugin_version;
int qemu_plugin_version = 1;

static struct {
	uint64_t begin, end;
} ranges[256];
static size_t range_count;
static uint64_t executed;
static char file[4096];

static void run_block(unsigned cpu, void *counted)
{
	(void) cpu;
	executed += (uintptr_t) counted;
}

static void translate_block(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
	uintptr_t counted = 0;
	(void) id;
	for (size_t k = 0; k < qemu_plugin_tb_n_insns(block); k++) {
		const uint64_t at = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(block, k));
		for (size_t r = 0; r < range_count; r++) {
			counted += ranges[r].begin <= at && at < ranges[r].end;
		}
	}
	if (counted > 0) {
		qemu_plugin_register_vcpu_tb_exec_cb(block, run_block, QEMU_PLUGIN_CB_NO_REGS, (void *) counted);
	}
}

static void write_count(qemu_plugin_id_t id, void *data)
{
	FILE *out = fopen(file, "w");
	(void) id;
	(void) data;
	if (out == NULL || fprintf(out, "%" PRIu64 "\n", executed) < 0 || fclose(out) != 0) {
		fprintf(stderr, "count: %s cannot be written\n", file);
	}
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv);

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	(void) info;
	for (int k = 0; k < argc; k++) {
		if (strncmp(argv[k], "out=", 4) == 0) {
			snprintf(file, sizeof(file), "%s", argv[k] + 4);
		} else if (range_count == 256 || sscanf(argv[k], "range=%" SCNx64 "-%" SCNx64, &ranges[range_count].begin, &ranges[range_count].end) != 2) {
			fprintf(stderr, "count: found %s, expected out=FILE or up to 256 of range=BEGIN-END\n", argv[k]);
			return 1;
		} else {
			range_count++;
		}
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate_block);
	qemu_plugin_register_atexit_cb(id, write_count, NULL);
	return 0;
}
