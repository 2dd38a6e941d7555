/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpreter.h"
#include "stack.h"

extern char **environ;

/* Parts of the file names of libraries that carry messages or start ranks. */
static const char *const kinds[] = {"libmpi",  "libmpich", "libfabric", "libucp",    "libuct",   "libpsm",
                                    "libpmix", "libprrte", "libopen-",  "mca_pml_",  "mca_btl_", "mca_mtl_",
                                    "libhwloc", "libxpmem", "libibverbs", "libefa"};

/* The values of a key; a line break in a value would begin another line. */
static void put(FILE *file, const char *key, const char *text) {
  fprintf(file, "%s ", key);
  for (; *text != 0; text++) fputc(*text == '\n' || *text == '\r' ? ' ' : *text, file);
  fputc('\n', file);
}

static int put_if_known(struct dl_phdr_info *info, size_t size, void *file) {
  (void)size;
  const char *slash = strrchr(info->dlpi_name, '/');
  const char *name = slash != NULL ? slash + 1 : info->dlpi_name;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (strncmp(name, kinds[i], strlen(kinds[i])) == 0) {
      put(file, "loaded", info->dlpi_name);
      break;
    }
  }
  return 0;
}

/* A function of a library that is loaded already; NULL if it is not. */
static void *function_of(const char *library, const char *name) {
  void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  return dlsym(handle != NULL ? handle : RTLD_DEFAULT, name);
}

static void put_versions(FILE *file) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "", *line = text;
  int length, version, subversion;
  MPI_Get_library_version(text, &length);
  while (line != NULL) {
    char *end = strchr(line, '\n');
    if (end != NULL) *end = 0;
    if (*line != 0) put(file, "mpi", line);
    line = end != NULL ? end + 1 : NULL;
  }
  MPI_Get_version(&version, &subversion);
  fprintf(file, "standard %d.%d\n", version, subversion);
  /* fi_version(3): major version in the upper 16 bits, minor version in the lower. */
  uint32_t (*fi_version)(void);
  *(void **)&fi_version = function_of("libfabric.so.1", "fi_version");
  if (fi_version != NULL) {
    const unsigned both = fi_version();
    fprintf(file, "libfabric %u.%u\n", both >> 16, both & 0xffffu);
  }
  const char *(*ucp_version)(void);
  *(void **)&ucp_version = function_of("libucp.so.0", "ucp_get_version_string");
  if (ucp_version != NULL) put(file, "ucx", ucp_version());
}

/* Number of different names of hosts. */
static int count_hosts(void) {
  char mine[MPI_MAX_PROCESSOR_NAME] = "";
  int length, hosts = 0;
  MPI_Get_processor_name(mine, &length);
  char *all = malloc((size_t)ranks * sizeof mine);
  if (all == NULL) give_up("out of memory", "names of hosts");
  MPI_Allgather(mine, sizeof mine, MPI_CHAR, all, sizeof mine, MPI_CHAR, MPI_COMM_WORLD);
  for (int i = 0; i < ranks; i++) {
    int is_new = 1;
    for (int j = 0; j < i; j++) is_new &= strcmp(all + i * sizeof mine, all + j * sizeof mine) != 0;
    hosts += is_new;
  }
  free(all);
  return hosts;
}

/* Number of groups of ranks that share memory, as the MPI sees them. */
static int count_nodes(void) {
  MPI_Comm node;
  int rank_in_node, is_first, nodes;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank_in_node);
  MPI_Comm_free(&node);
  is_first = rank_in_node == 0;
  MPI_Allreduce(&is_first, &nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return nodes;
}

void write_stack(const char *directory) {
  char name[4096];
  FILE *file = NULL;
  if (rank == 0) {
    snprintf(name, sizeof name, "%s/stack.txt", directory);
    file = fopen(name, "w");
    if (file == NULL) give_up("cannot be written", name);
    put_versions(file);
    /* Complete even if one of the collective calls below fails. */
    dl_iterate_phdr(put_if_known, file);
    for (char **variable = environ; *variable != NULL; variable++) put(file, "variable", *variable);
    fflush(file);
  }
  const int hosts = count_hosts(), nodes = count_nodes();
  if (rank == 0) {
    fprintf(file, "hosts %d\nnodes %d\n", hosts, nodes);
    fclose(file);
  }
}
