// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// See place.h. Information from /proc and /sys is omitted on systems other than Linux.
#define _GNU_SOURCE
#include "place.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void quoted(const char *text) {
  putchar('"');
  for (; *text; text++) {
    unsigned char byte = (unsigned char)*text;
    if (byte == '"' || byte == '\\') printf("\\%c", byte);
    else if (byte < 0x20 || byte >= 0x7f) printf("\\u%04x", byte); // bytes above ASCII pass as Latin-1
    else putchar(byte);
  }
  putchar('"');
}

// The first hardware thread of a core, which identifies the core.
static int core_of(int cpu) {
  char path[96];
  int first = cpu;
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
  FILE *file = fopen(path, "r");
  if (file && fscanf(file, "%d", &first) != 1) first = cpu;
  if (file) fclose(file);
  return first;
}

int pin(int rank, int wanted, const char **by) {
  struct {
    char host[64];
    cpu_set_t may;
  } mine = {0}, both[2];
  gethostname(mine.host, sizeof mine.host - 1);
  sched_getaffinity(0, sizeof mine.may, &mine.may);
  MPI_Comm pair;
  MPI_Comm_split(MPI_COMM_WORLD, rank < FIRST_OTHER ? 0 : MPI_UNDEFINED, rank, &pair);
  *by = "nobody";
  if (pair == MPI_COMM_NULL) return -1;
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, both, sizeof mine, MPI_BYTE, pair);
  MPI_Comm_free(&pair);
  cpu_set_t shared;
  CPU_AND(&shared, &both[0].may, &both[1].may);
  int together = !strcmp(both[0].host, both[1].host);
  int chosen[2] = {-1, -1};
  for (int who = 0; who < 2; who++)
    for (int cpu = 0; cpu < CPU_SETSIZE && chosen[who] < 0; cpu++)
      if (CPU_ISSET(cpu, &both[who].may) && !(who == 1 && together && core_of(cpu) == core_of(chosen[0])))
        chosen[who] = cpu;
  int alone = CPU_COUNT(&mine.may) == 1;
  if (together && CPU_COUNT(&shared) == 0) *by = "launcher";
  else if (!together && alone) *by = "launcher";
  else if (wanted && chosen[0] >= 0 && chosen[1] >= 0) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(chosen[rank], &only);
    if (!sched_setaffinity(0, sizeof only, &only)) {
      *by = "program";
      return chosen[rank];
    }
  }
  for (int cpu = 0; alone && cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, &mine.may)) return cpu;
  return -1;
}

// Names of loaded libraries that identify the transport.
static void list_libraries(void) {
  static const char *known[] = {"libmpi",  "mca_pml_", "mca_mtl_",   "mca_btl_",   "libucp",       "libuct",
                                "libpsm",  "libfabric", "libcxi",    "libmpl",     "libportals",   "libxpmem"};
  char line[1024], last[256] = "";
  const char *comma = "";
  FILE *file = fopen("/proc/self/maps", "r");
  while (file && fgets(line, sizeof line, file)) {
    char *name = strrchr(line, '/');
    if (!name) continue;
    name[strcspn(name, "\n")] = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
      if (!strncmp(name + 1, known[i], strlen(known[i])) && strncmp(name + 1, last, sizeof last - 1)) {
        printf("%s", comma);
        quoted(name + 1);
        snprintf(last, sizeof last, "%s", name + 1);
        comma = ", ";
      }
  }
  if (file) fclose(file);
}

// Environment variables that select or tune a transport.
static void list_environment(void) {
  static const char *known[] = {"OMPI_MCA_pml", "OMPI_MCA_btl", "OMPI_MCA_mtl", "UCX_",  "FI_",   "MPICH_",
                                "MPIR_CVAR_",   "I_MPI_",       "PSM2_",        "PSM3_", "MV2_", "MVP_"};
  const char *comma = "";
  extern char **environ;
  for (char **entry = environ; *entry; entry++)
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
      if (!strncmp(*entry, known[i], strlen(known[i]))) {
        printf("%s", comma);
        quoted(*entry);
        comma = ", ";
      }
}

// Components with MPI_T variables: the one that Open MPI selected has some, even if it is linked statically.
static void list_components(void) {
  char last[64] = "";
  const char *comma = "";
  int level, count = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &level) != MPI_SUCCESS) return;
  MPI_T_pvar_get_num(&count);
  for (int i = 0; i < count; i++) {
    char name[256] = "", text[256];
    int size = sizeof name, words = sizeof text, verbosity, kind, bind, readonly, continuous, atomic, length;
    MPI_Datatype type;
    MPI_T_enum values;
    if (MPI_T_pvar_get_info(i, name, &size, &verbosity, &kind, &type, &values, text, &words, &bind, &readonly,
                            &continuous, &atomic) != MPI_SUCCESS)
      continue;
    if (strncmp(name, "pml_", 4)) continue;
    length = 4 + (int)strcspn(name + 4, "_");
    name[length < (int)sizeof last - 1 ? length : (int)sizeof last - 1] = 0;
    if (!strcmp(name, last)) continue;
    snprintf(last, sizeof last, "%s", name);
    printf("%s", comma);
    quoted(name);
    comma = ", ";
  }
  MPI_T_finalize(); // before MPI_Finalize: Open MPI 4.1 crashes otherwise
}

static void cpu_model(char *model, size_t size) {
  char line[256];
  FILE *file = fopen("/proc/cpuinfo", "r");
  snprintf(model, size, "unknown");
  while (file && fgets(line, sizeof line, file))
    if (!strncmp(line, "model name", 10) && strchr(line, ':')) {
      line[strcspn(line, "\n")] = 0;
      snprintf(model, size, "%s", strchr(line, ':') + 2);
      break;
    }
  if (file) fclose(file);
}

void introduce(MPI_Comm control, int cpu, const char *by, double clock_ns) {
  char host[MPI_MAX_PROCESSOR_NAME] = "", peer[MPI_MAX_PROCESSOR_NAME] = "", model[256];
  static char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length, standard, edition, rank, ranks, peer_cpu = -1;
  MPI_Comm_rank(control, &rank);
  MPI_Comm_size(control, &ranks);
  MPI_Get_processor_name(host, &length);
  if (rank == SENDER) {
    MPI_Send(host, sizeof host, MPI_CHAR, RECEIVER, 0, control);
    MPI_Send(&cpu, 1, MPI_INT, RECEIVER, 0, control);
    return;
  }
  MPI_Recv(peer, sizeof peer, MPI_CHAR, SENDER, 0, control, MPI_STATUS_IGNORE);
  MPI_Recv(&peer_cpu, 1, MPI_INT, SENDER, 0, control, MPI_STATUS_IGNORE);
  MPI_Get_library_version(version, &length);
  MPI_Get_version(&standard, &edition);
  cpu_model(model, sizeof model);
  printf(MARK "{\"event\": \"hello\", \"ranks\": %d, \"standard\": \"%d.%d\", \"library\": ", ranks, standard, edition);
  quoted(version);
  printf(", \"hosts\": [");
  quoted(peer);
  printf(", ");
  quoted(host);
  printf("], \"cpu\": ");
  quoted(model);
  printf(", \"pinned\": [%d, %d], \"pinned_by\": \"%s\", \"clock_ns\": %.2f, \"libraries\": [", peer_cpu, cpu, by,
         clock_ns);
  list_libraries();
  printf("], \"components\": [");
  list_components();
  printf("], \"environment\": [");
  list_environment();
  puts("]}");
  fflush(stdout);
}
