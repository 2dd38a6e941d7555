/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Operations from bytes, judged by two lists: the program of a coverage-guided fuzzer, with limits so small that few
 * entries reach all of the matcher. Without libFuzzer (FUZZ_CORPUS defined): `fuzz CORPUS [FOLDER]` runs the inputs of a
 * file with one in a line, in hexadecimal digits, and writes them to files in FOLDER. Ends with 1 at a difference.
 */
#define MBMATCH_SHORT 1
#define MBMATCH_DEBT 2
#define MBMATCH_WARM 4
#define MBMATCH_FIRST_BUCKETS 2
#include "../mbmatch.c"

enum { NODES = 160 };
#include "reference.h"

static const uint8_t *input, *input_end;

static unsigned next_byte(void)
{
	return input < input_end ? *input++ : 0;
}

static void differs(const char *what)
{
	fprintf(stderr, "fuzz: %s, %d bytes before the end of the input\n", what, (int) (input_end - input));
	abort();
}

struct key {
	uint64_t bits, ignore;
	uint32_t source;
};

static uint64_t tag_mask, protocol;

/* A pattern of MPI's four kinds, or a message, whose sender is unknown where bit 6 is set. Where there are protocol bits,
 * another byte says whether they are set and ignored. */
static struct key next_key(void)
{
	const unsigned byte = next_byte();
	struct key key = {(byte & 7) | (uint64_t) (byte >> 3 & 1) << 40, byte & 0x80 ? tag_mask : 0, byte >> 4 & 3};
	if (byte & 0x40) {
		key.source = MBMATCH_ANY_SOURCE;
	}
	if (protocol != 0) {
		const unsigned how = next_byte();
		key.bits ^= how & 1 ? protocol : 0;
		key.ignore ^= how & 2 ? protocol : 0;
	}
	if (m.hints & MBMATCH_NO_ANY_TAG) {
		key.ignore = 0;
	}
	return key;
}

static struct key next_pattern(void)
{
	struct key key = next_key();
	if (m.hints & MBMATCH_NO_ANY_SOURCE && key.source == MBMATCH_ANY_SOURCE) {
		key.source = 4;
	}
	return key;
}

/* One that ignores other bits, of the tag and the context. */
static struct key next_masked(void)
{
	struct key key = next_pattern();
	const unsigned mask = next_byte();
	if (!(m.hints & MBMATCH_NO_ANY_TAG)) {
		key.ignore = mask == 0xff ? UINT64_MAX : key.ignore ^ ((mask & 7) | (uint64_t) (mask >> 3 & 1) << 40);
	}
	return key;
}

/* The low four bits of a byte are the operation, the others how often or which one of few. */
static void run_operation(void)
{
	const unsigned byte = next_byte(), times = byte >> 4;
	struct key k;
	switch (byte & 15) {
	case 0:
	case 1:
		k = next_pattern();
		for (unsigned n = 0; n <= times && idle_count > 0; n++) {
			post_receive(k.bits + n, k.ignore, k.source, byte & 1);
		}
		break;
	case 2:
	case 3:
		k = next_key();
		for (unsigned n = 0; n <= times && idle_count > 0; n++) {
			arrive_message(k.bits + n, k.source, byte & 1);
		}
		break;
	case 4:
		k = next_pattern();
		probe_message(k.bits + times, k.ignore, k.source);
		break;
	case 5:
		k = next_pattern();
		take_message(k.bits + times, k.ignore, k.source);
		break;
	case 6:
		k = next_masked();
		if (times % 4 == 0 && idle_count > 0) {
			post_receive(k.bits, k.ignore, k.source, times > 8);
		} else if (times % 4 == 1) {
			probe_message(k.bits, k.ignore, k.source);
		} else if (times % 4 == 2) {
			take_message(k.bits, k.ignore, k.source);
		} else {
			remove_entries(times & 4 ? &posted : &waiting, k.bits, k.ignore, k.source, times & 8);
		}
		break;
	case 7:
		if (posted.count > 0) {
			cancel_receive(next_byte() % posted.count);
		}
		break;
	case 8:
		if (waiting.count > 0) {
			discard_message(next_byte() % waiting.count);
		}
		break;
	case 9:
		if (waiting.count > 0) {
			change_source(next_byte() % waiting.count, times == 15 ? MBMATCH_UNKNOWN_SOURCE : times);
		}
		break;
	case 10:
		if (posted.count > 0) {
			stay_receive(next_byte() % posted.count);
		}
		break;
	case 11:
		mbmatch_limit(&m, times == 15 ? UINT32_MAX : times * 4);
		break;
	case 12:
		count_into(times & 1);
		break;
	case 13:
		failing = (uint8_t) next_byte();
		break;
	case 14:
		mbmatch_trim(&m);
		break;
	default:
		if (times & 1) {
			k = next_key();
			find_receive(k.bits, k.source);
		}
		check();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t tag_masks[] = {3, UINT32_MAX, 0, UINT64_MAX};
	static const uint64_t protocols[16] = {[8] = 1, [9] = 2, [10] = 3, [11] = UINT64_C(1) << 40, [12] = UINT64_MAX};
	input = data;
	input_end = data + size;
	/* Overtaking hides which receive is the oldest: it is rare. */
	const unsigned byte = next_byte(), high = byte >> 4, hints = high == 15 ? MBMATCH_ALLOW_OVERTAKING : high > 12 ? high & 3 : 0;
	protocol = protocols[high];
	tag_mask = tag_masks[byte & 3];
	begin(tag_mask, protocol, hints, byte & 4 ? NULL : &tested_allocator);
	count_into(byte >> 3 & 1);
	while (input < input_end) {
		run_operation();
	}
	check();
	finish();
	return 0;
}

#ifdef FUZZ_CORPUS
int main(int argc, char **argv)
{
	static char line[16384];
	static uint8_t bytes[sizeof(line) / 2];
	FILE *corpus = argc == 2 || argc == 3 ? fopen(argv[1], "r") : NULL;
	unsigned count = 0;
	if (corpus == NULL) {
		fprintf(stderr, "usage: fuzz CORPUS [FOLDER]: CORPUS has an input in each line\n");
		return 2;
	}
	for (; fgets(line, sizeof(line), corpus) != NULL; count++) {
		size_t size = 0;
		for (unsigned byte; sscanf(line + 2 * size, "%2x", &byte) == 1; size++) {
			bytes[size] = (uint8_t) byte;
		}
		LLVMFuzzerTestOneInput(bytes, size);
		if (argc == 3) {
			char name[4096];
			snprintf(name, sizeof(name), "%s/%u", argv[2], count);
			FILE *file = fopen(name, "wb");
			if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
				fprintf(stderr, "fuzz: %s cannot be written\n", name);
				return 2;
			}
		}
	}
	fclose(corpus);
	printf("%u inputs: no difference\n", count);
	return count > 0 ? 0 : 1;
}
#endif
