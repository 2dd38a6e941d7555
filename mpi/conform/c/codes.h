/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Codes and records shared with the Rust judge. Generated from spec/conform/codes.toml: run `make gen`. */
#ifndef MATCHBENCH_CONFORM_CODES_H
#define MATCHBENCH_CONFORM_CODES_H

enum {
  /* First number of a program file: `MBCO` in little-endian bytes. */
  PROGRAMS_MAGIC = 0x4f43424d,
  /* Identifies an outcome file: `MBOU` in little-endian bytes. */
  OUTCOME_MAGIC = 0x554f424d,
  /* Version of both file formats. */
  FORMAT = 2,
  /* Step numbers are below this limit, and so is the number of operations of a rank. */
  MAX_STEPS = 1024,
  /* Threads of a rank are numbered below this limit. */
  MAX_THREADS = 4,
  /* `MPI_ANY_SOURCE` as a peer or `MPI_ANY_TAG` as a tag. */
  ANY = -1,
  /* `MPI_PROC_NULL` as a peer or source. */
  NO_PROCESS = -2,
  /* In an outcome record: the payload identifies no message. */
  NO_MESSAGE = -1,
  /* In a `Failed` record, in place of an error class: a completion of a request that was not
   * active. */
  INACTIVE_REQUEST = -1,
  /* Flag of an outcome record: the payload is the one that was sent. */
  INTACT = 1,
  /* Flag of an outcome record: the payload belongs to another program of the same job. */
  FOREIGN = 2,
  /* Flag of an outcome record: the receive wrote past the end of its buffer. */
  OVERRUN = 4,
  /* Flag of an outcome record: the receive changed bytes between those of its datatype. */
  GAPS = 8,
  /* Flag of an outcome record: the status says that the receive was cancelled, and no call has
   * cancelled it. */
  CALLED_CANCELLED = 16,
};

/* The communicators that every program may use. */
enum {
  /* A duplicate of `MPI_COMM_WORLD`. */
  COMM_FIRST = 0,
  /* Another duplicate. */
  COMM_SECOND = 1,
  /* All ranks of `MPI_COMM_WORLD` in reverse order. */
  COMM_REVERSED = 2,
  /* `MPI_COMM_WORLD` split into even and odd ranks. */
  COMM_PARITY = 3,
  /* The intercommunicator between even and odd ranks. */
  COMM_ACROSS = 4,
  /* All ranks in their order in `MPI_COMM_WORLD`, made by `MPI_Comm_create_from_group` from the
   * process set `mpi://WORLD` of a session. */
  COMM_SESSION = 5,
  COMMS = 6,
};

/* How the bytes of a message lie in memory, and the datatype that says so. Every type has the
 * signature of as many `MPI_BYTE`. */
enum {
  /* One after the other: `MPI_BYTE`. */
  LAYOUT_BYTES = 0,
  /* One after the other: `MPI_Type_contiguous`, count 1. */
  LAYOUT_CONTIGUOUS = 1,
  /* Blocks of 8 bytes, each followed by a gap of 4, and the rest: `MPI_Type_create_struct` of an
   * `MPI_Type_vector` and bytes, count 1. */
  LAYOUT_VECTOR = 2,
  /* Blocks of 512 bytes, the last one first in memory: `MPI_Type_create_hindexed` with
   * descending displacements, count 1. */
  LAYOUT_REVERSED = 3,
  /* Each byte followed by a gap of 2: `MPI_Type_create_resized` of `MPI_BYTE` with extent 3, as
   * many as there are bytes. */
  LAYOUT_RESIZED = 4,
  LAYOUTS = 5,
};

/* The type and size of the counts of a call. */
enum {
  /* `int`: `MPI_Send`. */
  COUNTS_INT = 0,
  /* `MPI_Count`: `MPI_Send_c`. */
  COUNTS_WIDE = 1,
  /* `MPI_Count`, and a receive has room for more than 2^32 bytes, of which a message uses the
   * first. */
  COUNTS_LARGE = 2,
  COUNT_TYPES = 3,
};

/* What some MPI libraries lack and some programs need; a bit of the number `needs` of a program
 * file each. */
enum {
  /* `MPI_Isendrecv`. */
  NEED_ISENDRECV = 0,
  /* `MPI_Session_init` and `MPI_Comm_create_from_group`. */
  NEED_SESSIONS = 1,
  /* `MPI_Psend_init` and `MPI_Precv_init`. */
  NEED_PARTITIONED = 2,
  /* `MPI_THREAD_MULTIPLE`. */
  NEED_THREADS = 3,
  /* The calls with `MPI_Count` arguments, such as `MPI_Recv_c`. */
  NEED_COUNTS = 4,
  NEEDS = 5,
};

/* What an operation does. */
enum {
  /* Standard send. */
  OP_SEND = 1,
  /* Synchronous send. */
  OP_SSEND = 2,
  /* Ready send. */
  OP_RSEND = 3,
  /* Buffered send. */
  OP_BSEND = 4,
  /* Receive. */
  OP_RECEIVE = 5,
  /* Cancel a persistent receive if it is active, then `MPI_Start` it. */
  OP_RESTART = 6,
  /* `MPI_Sendrecv` or `MPI_Isendrecv`. */
  OP_SENDRECV = 7,
  /* One of the four probes. */
  OP_PROBE = 8,
  /* `MPI_Mrecv` or `MPI_Imrecv` of the message that a matched probe took. */
  OP_RECEIVE_PROBED = 9,
  /* `MPI_Cancel` and `MPI_Wait`. */
  OP_CANCEL = 10,
  /* One of the eight completion calls. */
  OP_COMPLETE = 11,
  /* `MPI_Barrier` of all ranks. */
  OP_BARRIER = 12,
  /* A short time in which messages may arrive. */
  OP_PAUSE = 13,
  /* `MPI_Psend_init`, and after the start `MPI_Pready` of every partition. */
  OP_PARTITIONED_SEND = 14,
  /* `MPI_Precv_init`. */
  OP_PARTITIONED_RECEIVE = 15,
  OPERATION_CODES = 15,
};

/* How a send or receive is called. */
enum {
  /* `MPI_Send`, `MPI_Recv`. */
  FORM_BLOCKING = 0,
  /* `MPI_Isend`, `MPI_Irecv`. */
  FORM_NONBLOCKING = 1,
  /* `MPI_Send_init` or `MPI_Recv_init`, then `MPI_Start`. */
  FORM_PERSISTENT = 2,
  /* As `Persistent`, but consecutive steps of this form are started by one `MPI_Startall` before
   * the rank's next other step, in an order that MPI leaves open (MPI 4.1, 3.9). */
  FORM_TOGETHER = 3,
  FORMS = 4,
};

/* The probe calls. */
enum {
  /* `MPI_Probe`. */
  CALL_PROBE = 0,
  /* `MPI_Iprobe`. */
  CALL_IPROBE = 1,
  /* `MPI_Mprobe`. */
  CALL_MPROBE = 2,
  /* `MPI_Improbe`. */
  CALL_IMPROBE = 3,
  PROBE_CALLS = 4,
};

/* The completion calls, those that wait first. */
enum {
  /* `MPI_Wait`. */
  CALL_WAIT = 0,
  /* `MPI_Waitall`. */
  CALL_WAITALL = 1,
  /* `MPI_Waitany`. */
  CALL_WAITANY = 2,
  /* `MPI_Waitsome`. */
  CALL_WAITSOME = 3,
  /* `MPI_Test`. */
  CALL_TEST = 4,
  /* `MPI_Testall`. */
  CALL_TESTALL = 5,
  /* `MPI_Testany`. */
  CALL_TESTANY = 6,
  /* `MPI_Testsome`. */
  CALL_TESTSOME = 7,
  COMPLETE_CALLS = 8,
};

/* What an outcome record reports. */
enum {
  /* First record of a file: magic, format, rank and ranks in the fields from `at` on. */
  RECORD_HEADER = 1,
  /* A program begins; `at` is its index. */
  RECORD_BEGIN = 2,
  /* The program ended; `at` is its index. */
  RECORD_END = 3,
  /* A receive is complete. */
  RECORD_RECEIVED = 4,
  /* A receive was cancelled. */
  RECORD_CANCELLED = 5,
  /* A send is complete. */
  RECORD_SENT = 6,
  /* A probe found a message. */
  RECORD_FOUND = 7,
  /* A probe found no message. */
  RECORD_FOUND_NOTHING = 8,
  /* A matched probe of the drain phase received a message; `step` is the communicator. */
  RECORD_DRAINED = 9,
  /* The time limit expired in operation `at`. */
  RECORD_STUCK = 10,
  /* A call returned an error; `flags` is its class. */
  RECORD_FAILED = 11,
  /* A receive is complete with `MPI_ERR_TRUNCATE`. */
  RECORD_TRUNCATED = 12,
  RECORD_KINDS = 12,
};

/* The beginning of a program file. */
typedef struct {
  /* `PROGRAMS_MAGIC`. */
  int magic;
  /* `FORMAT`. */
  int format;
  /* Ranks of every program. */
  int ranks;
  /* Number of programs. */
  int programs;
  /* Bytes of the longest message. */
  int longest_message;
  /* What the programs need: bit `1 << NEED` for each `Need`. */
  int needs;
} FileHeader;

/* The beginning of a program; the parts of ranks 0, 1, ... follow. */
typedef struct {
  /* Numbers of the program, this header included. */
  int words;
  /* Index of the program in the file. */
  int index;
} ProgramHeader;

/* The beginning of one rank's part of a program; its operations follow. */
typedef struct {
  /* Numbers that follow this one. */
  int words;
  /* Messages that the program sends to this rank. */
  int messages;
  /* Operations of this rank. */
  int operations;
} RankHeader;

/* One operation of a rank; its arguments follow. */
typedef struct {
  /* An `OperationCode`. */
  int code;
  /* The step's number, which also identifies its message or receive. */
  int step;
  /* The thread that performs it, from 0. */
  int thread;
  /* A `Comm`. */
  int comm;
  /* Rank in the communicator, `ANY` or `NO_PROCESS`. */
  int peer;
  /* The tag, or `ANY`. */
  int tag;
  /* Of a send: length of the message; of a receive: length of its buffer, 0 if every message
   * fits. */
  int bytes;
  /* A `Layout`. */
  int layout;
  /* Of partitioned communication: number of partitions. */
  int partitions;
  /* A `CountType`. */
  int counts;
  /* A `Form`, `ProbeCall` or `CompleteCall`. */
  int form;
  /* Number of arguments: indices of earlier operations of the rank; of `MPI_Sendrecv`
   * communicator, source, tag and `Layout` of its receive. */
  int arguments;
  int argument[];
} OperationRecord;

/* One record of an outcome file. */
typedef struct {
  /* A `RecordKind`. */
  int kind;
  /* The operation that reported it, as an index; the number of operations in the drain phase. */
  int at;
  /* The step that it concerns. */
  int step;
  /* Source in the status: a rank of the communicator, or `NO_PROCESS`. */
  int source;
  /* Tag in the status, or `ANY`. */
  int tag;
  /* Bytes, as returned by `MPI_Get_count`, or by `MPI_Get_elements` for a derived datatype. */
  int count;
  /* The message that the payload identifies, or `NO_MESSAGE`. */
  int message;
  /* `INTACT`, `FOREIGN`, `OVERRUN`, `GAPS`, `CALLED_CANCELLED`. */
  int flags;
} OutcomeRecord;

#endif
