/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The C interface of the message-passing library: a subset of MPI 3.1. README.md lists what is supported. */
#ifndef MB_MPI_H
#define MB_MPI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPI_VERSION 3
#define MPI_SUBVERSION 1
#define MATCHBENCH_MPI 1

/* A handle is a number: bits 24 to 30 are the kind of the object, bits 0 to 23 its index. Fortran has the same. */
typedef int MPI_Comm;
typedef int MPI_Group;
typedef int MPI_Datatype;
typedef int MPI_Request;
typedef int MPI_Op;
typedef int MPI_Errhandler;
typedef int MPI_Message;
typedef int MPI_Info;
typedef int MPI_Win;
typedef int MPI_File;
typedef int MPI_Fint;
typedef ptrdiff_t MPI_Aint;
typedef long long MPI_Count;
typedef long long MPI_Offset;

/* Equal to the Fortran status, an array of MPI_STATUS_SIZE integers. */
typedef struct MPI_Status {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int mb_cancelled;
    unsigned mb_bytes[2]; /* received bytes, low word first */
} MPI_Status;
#define MPI_F_STATUS_SIZE 6
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)

#define MPI_COMM_NULL ((MPI_Comm)0x01000000)
#define MPI_COMM_WORLD ((MPI_Comm)0x01000001)
#define MPI_COMM_SELF ((MPI_Comm)0x01000002)
#define MPI_GROUP_NULL ((MPI_Group)0x02000000)
#define MPI_GROUP_EMPTY ((MPI_Group)0x02000001)
#define MPI_DATATYPE_NULL ((MPI_Datatype)0x03000000)
#define MPI_REQUEST_NULL ((MPI_Request)0x04000000)
#define MPI_OP_NULL ((MPI_Op)0x05000000)
#define MPI_ERRHANDLER_NULL ((MPI_Errhandler)0x06000000)
#define MPI_ERRORS_ARE_FATAL ((MPI_Errhandler)0x06000001)
#define MPI_ERRORS_RETURN ((MPI_Errhandler)0x06000002)
#define MPI_MESSAGE_NULL ((MPI_Message)0x07000000)
#define MPI_MESSAGE_NO_PROC ((MPI_Message)0x07000001)
#define MPI_INFO_NULL ((MPI_Info)0x08000000)
#define MPI_INFO_ENV ((MPI_Info)0x08000001)
#define MPI_WIN_NULL ((MPI_Win)0x09000000)
#define MPI_FILE_NULL ((MPI_File)0x0a000000)

#define MPI_CHAR ((MPI_Datatype)0x03000001)
#define MPI_SIGNED_CHAR ((MPI_Datatype)0x03000002)
#define MPI_UNSIGNED_CHAR ((MPI_Datatype)0x03000003)
#define MPI_BYTE ((MPI_Datatype)0x03000004)
#define MPI_WCHAR ((MPI_Datatype)0x03000005)
#define MPI_SHORT ((MPI_Datatype)0x03000006)
#define MPI_UNSIGNED_SHORT ((MPI_Datatype)0x03000007)
#define MPI_INT ((MPI_Datatype)0x03000008)
#define MPI_UNSIGNED ((MPI_Datatype)0x03000009)
#define MPI_LONG ((MPI_Datatype)0x0300000a)
#define MPI_UNSIGNED_LONG ((MPI_Datatype)0x0300000b)
#define MPI_LONG_LONG ((MPI_Datatype)0x0300000c)
#define MPI_UNSIGNED_LONG_LONG ((MPI_Datatype)0x0300000d)
#define MPI_FLOAT ((MPI_Datatype)0x0300000e)
#define MPI_DOUBLE ((MPI_Datatype)0x0300000f)
#define MPI_LONG_DOUBLE ((MPI_Datatype)0x03000010)
#define MPI_PACKED ((MPI_Datatype)0x03000011)
#define MPI_INT8_T ((MPI_Datatype)0x03000012)
#define MPI_INT16_T ((MPI_Datatype)0x03000013)
#define MPI_INT32_T ((MPI_Datatype)0x03000014)
#define MPI_INT64_T ((MPI_Datatype)0x03000015)
#define MPI_UINT8_T ((MPI_Datatype)0x03000016)
#define MPI_UINT16_T ((MPI_Datatype)0x03000017)
#define MPI_UINT32_T ((MPI_Datatype)0x03000018)
#define MPI_UINT64_T ((MPI_Datatype)0x03000019)
#define MPI_C_BOOL ((MPI_Datatype)0x0300001a)
#define MPI_C_FLOAT_COMPLEX ((MPI_Datatype)0x0300001b)
#define MPI_C_DOUBLE_COMPLEX ((MPI_Datatype)0x0300001c)
#define MPI_C_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x0300001d)
#define MPI_AINT ((MPI_Datatype)0x0300001e)
#define MPI_COUNT ((MPI_Datatype)0x0300001f)
#define MPI_OFFSET ((MPI_Datatype)0x03000020)
#define MPI_CXX_BOOL ((MPI_Datatype)0x03000021)
#define MPI_CXX_FLOAT_COMPLEX ((MPI_Datatype)0x03000022)
#define MPI_CXX_DOUBLE_COMPLEX ((MPI_Datatype)0x03000023)
#define MPI_CXX_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x03000024)
#define MPI_FLOAT_INT ((MPI_Datatype)0x03000025)
#define MPI_DOUBLE_INT ((MPI_Datatype)0x03000026)
#define MPI_LONG_INT ((MPI_Datatype)0x03000027)
#define MPI_2INT ((MPI_Datatype)0x03000028)
#define MPI_SHORT_INT ((MPI_Datatype)0x03000029)
#define MPI_LONG_DOUBLE_INT ((MPI_Datatype)0x0300002a)
#define MPI_CHARACTER ((MPI_Datatype)0x0300002b)
#define MPI_LOGICAL ((MPI_Datatype)0x0300002c)
#define MPI_INTEGER ((MPI_Datatype)0x0300002d)
#define MPI_REAL ((MPI_Datatype)0x0300002e)
#define MPI_DOUBLE_PRECISION ((MPI_Datatype)0x0300002f)
#define MPI_COMPLEX ((MPI_Datatype)0x03000030)
#define MPI_DOUBLE_COMPLEX ((MPI_Datatype)0x03000031)
#define MPI_INTEGER1 ((MPI_Datatype)0x03000032)
#define MPI_INTEGER2 ((MPI_Datatype)0x03000033)
#define MPI_INTEGER4 ((MPI_Datatype)0x03000034)
#define MPI_INTEGER8 ((MPI_Datatype)0x03000035)
#define MPI_REAL4 ((MPI_Datatype)0x03000036)
#define MPI_REAL8 ((MPI_Datatype)0x03000037)
#define MPI_REAL16 ((MPI_Datatype)0x03000038)
#define MPI_COMPLEX8 ((MPI_Datatype)0x03000039)
#define MPI_COMPLEX16 ((MPI_Datatype)0x0300003a)
#define MPI_2INTEGER ((MPI_Datatype)0x0300003b)
#define MPI_2REAL ((MPI_Datatype)0x0300003c)
#define MPI_2DOUBLE_PRECISION ((MPI_Datatype)0x0300003d)
#define MPI_LONG_LONG_INT MPI_LONG_LONG
#define MPI_C_COMPLEX MPI_C_FLOAT_COMPLEX

#define MPI_MAX ((MPI_Op)0x05000001)
#define MPI_MIN ((MPI_Op)0x05000002)
#define MPI_SUM ((MPI_Op)0x05000003)
#define MPI_PROD ((MPI_Op)0x05000004)
#define MPI_LAND ((MPI_Op)0x05000005)
#define MPI_BAND ((MPI_Op)0x05000006)
#define MPI_LOR ((MPI_Op)0x05000007)
#define MPI_BOR ((MPI_Op)0x05000008)
#define MPI_LXOR ((MPI_Op)0x05000009)
#define MPI_BXOR ((MPI_Op)0x0500000a)
#define MPI_MINLOC ((MPI_Op)0x0500000b)
#define MPI_MAXLOC ((MPI_Op)0x0500000c)
#define MPI_REPLACE ((MPI_Op)0x0500000d)
#define MPI_NO_OP ((MPI_Op)0x0500000e)

#define MPI_SUCCESS 0
#define MPI_ERR_BUFFER 1
#define MPI_ERR_COUNT 2
#define MPI_ERR_TYPE 3
#define MPI_ERR_TAG 4
#define MPI_ERR_COMM 5
#define MPI_ERR_RANK 6
#define MPI_ERR_REQUEST 7
#define MPI_ERR_ROOT 8
#define MPI_ERR_GROUP 9
#define MPI_ERR_OP 10
#define MPI_ERR_TOPOLOGY 11
#define MPI_ERR_DIMS 12
#define MPI_ERR_ARG 13
#define MPI_ERR_UNKNOWN 14
#define MPI_ERR_TRUNCATE 15
#define MPI_ERR_OTHER 16
#define MPI_ERR_INTERN 17
#define MPI_ERR_IN_STATUS 18
#define MPI_ERR_PENDING 19
#define MPI_ERR_KEYVAL 20
#define MPI_ERR_NO_MEM 21
#define MPI_ERR_INFO_KEY 22
#define MPI_ERR_INFO_VALUE 23
#define MPI_ERR_INFO_NOKEY 24
#define MPI_ERR_INFO 25
#define MPI_ERR_SERVICE 26
#define MPI_ERR_NAME 27
#define MPI_ERR_UNSUPPORTED_OPERATION 28
#define MPI_ERR_LASTCODE 29
#define MPI_ERR_WIN MPI_ERR_OTHER
#define MPI_ERR_FILE MPI_ERR_OTHER

#define MPI_BOTTOM ((void *)0)
#define MPI_IN_PLACE ((void *)-1)
#define MPI_PROC_NULL (-1)
#define MPI_ANY_SOURCE (-2)
#define MPI_ROOT (-3)
#define MPI_ANY_TAG (-1)
#define MPI_UNDEFINED (-32766)
#define MPI_BSEND_OVERHEAD 96
#define MPI_MAX_PROCESSOR_NAME 128
#define MPI_MAX_ERROR_STRING 256
#define MPI_MAX_OBJECT_NAME 64
#define MPI_MAX_LIBRARY_VERSION_STRING 256
#define MPI_MAX_INFO_KEY 255
#define MPI_MAX_INFO_VAL 1024
#define MPI_KEYVAL_INVALID (-1)

enum { MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE };
enum { MPI_IDENT, MPI_CONGRUENT, MPI_SIMILAR, MPI_UNEQUAL };
enum { MPI_ORDER_C = 56, MPI_ORDER_FORTRAN = 57 };
enum { MPI_GRAPH = 1, MPI_CART = 2, MPI_DIST_GRAPH = 3 };
enum { MPI_COMM_TYPE_SHARED = 1 };
enum { MPI_TAG_UB = 1, MPI_HOST, MPI_IO, MPI_WTIME_IS_GLOBAL, MPI_UNIVERSE_SIZE, MPI_APPNUM, MPI_LASTUSEDCODE };
enum {
    MPI_COMBINER_NAMED = 1,
    MPI_COMBINER_DUP,
    MPI_COMBINER_CONTIGUOUS,
    MPI_COMBINER_VECTOR,
    MPI_COMBINER_HVECTOR,
    MPI_COMBINER_INDEXED,
    MPI_COMBINER_HINDEXED,
    MPI_COMBINER_INDEXED_BLOCK,
    MPI_COMBINER_HINDEXED_BLOCK,
    MPI_COMBINER_STRUCT,
    MPI_COMBINER_SUBARRAY,
    MPI_COMBINER_RESIZED
};

typedef void MPI_User_function(void *, void *, int *, MPI_Datatype *);
typedef void MPI_Comm_errhandler_function(MPI_Comm *, int *, ...);
typedef MPI_Comm_errhandler_function MPI_Comm_errhandler_fn;
typedef MPI_Comm_errhandler_function MPI_Handler_function;
typedef int MPI_Comm_copy_attr_function(MPI_Comm, int, void *, void *, void *, int *);
typedef int MPI_Comm_delete_attr_function(MPI_Comm, int, void *, void *);
typedef MPI_Comm_copy_attr_function MPI_Copy_function;
typedef MPI_Comm_delete_attr_function MPI_Delete_function;
int mb_dup_attribute(MPI_Comm, int, void *, void *, void *, int *);
#define MPI_COMM_NULL_COPY_FN ((MPI_Comm_copy_attr_function *)0)
#define MPI_COMM_NULL_DELETE_FN ((MPI_Comm_delete_attr_function *)0)
#define MPI_COMM_DUP_FN mb_dup_attribute
#define MPI_NULL_COPY_FN MPI_COMM_NULL_COPY_FN
#define MPI_NULL_DELETE_FN MPI_COMM_NULL_DELETE_FN
#define MPI_DUP_FN MPI_COMM_DUP_FN

/* Environment. */
int MPI_Init(int *argc, char ***argv);
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
int MPI_Query_thread(int *provided);
int MPI_Is_thread_main(int *flag);
int MPI_Initialized(int *flag);
int MPI_Finalize(void);
int MPI_Finalized(int *flag);
int MPI_Abort(MPI_Comm comm, int code);
double MPI_Wtime(void);
double MPI_Wtick(void);
int MPI_Get_processor_name(char *name, int *length);
int MPI_Get_version(int *version, int *subversion);
int MPI_Get_library_version(char *version, int *length);
int MPI_Get_address(const void *location, MPI_Aint *address);
int MPI_Address(void *location, MPI_Aint *address);
MPI_Aint MPI_Aint_add(MPI_Aint base, MPI_Aint displacement);
MPI_Aint MPI_Aint_diff(MPI_Aint a, MPI_Aint b);
int MPI_Alloc_mem(MPI_Aint bytes, MPI_Info info, void *pointer);
int MPI_Free_mem(void *memory);
int MPI_Pcontrol(const int level, ...);
int MPI_Info_create(MPI_Info *info);
int MPI_Info_set(MPI_Info info, const char *key, const char *value);
int MPI_Info_free(MPI_Info *info);

/* Errors. */
int MPI_Error_class(int code, int *error_class);
int MPI_Error_string(int code, char *text, int *length);
int MPI_Comm_create_errhandler(MPI_Comm_errhandler_function *function, MPI_Errhandler *handler);
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *handler);
int MPI_Comm_call_errhandler(MPI_Comm comm, int code);
int MPI_Errhandler_free(MPI_Errhandler *handler);
int MPI_Errhandler_create(MPI_Handler_function *function, MPI_Errhandler *handler);
int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *handler);

/* Point to point. */
int MPI_Send(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm);
int MPI_Ssend(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm);
int MPI_Rsend(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm);
int MPI_Bsend(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm);
int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Issend(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request *request);
int MPI_Irsend(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request *request);
int MPI_Ibsend(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request *request);
int MPI_Send_init(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                  MPI_Request *request);
int MPI_Ssend_init(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                   MPI_Request *request);
int MPI_Rsend_init(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                   MPI_Request *request);
int MPI_Bsend_init(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                   MPI_Request *request);
int MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status);
int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Sendrecv(const void *sent, int sent_count, MPI_Datatype sent_type, int dest, int sent_tag, void *received,
                 int received_count, MPI_Datatype received_type, int source, int received_tag, MPI_Comm comm,
                 MPI_Status *status);
int MPI_Sendrecv_replace(void *buffer, int count, MPI_Datatype type, int dest, int sent_tag, int source,
                         int received_tag, MPI_Comm comm, MPI_Status *status);
int MPI_Start(MPI_Request *request);
int MPI_Startall(int count, MPI_Request requests[]);
int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status);
int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status);
int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status);
int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status);
int MPI_Mrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status);
int MPI_Imrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *request);
int MPI_Wait(MPI_Request *request, MPI_Status *status);
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status);
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]);
int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]);
int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status);
int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status);
int MPI_Waitsome(int count, MPI_Request requests[], int *completed, int indices[], MPI_Status statuses[]);
int MPI_Testsome(int count, MPI_Request requests[], int *completed, int indices[], MPI_Status statuses[]);
int MPI_Request_free(MPI_Request *request);
int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status);
int MPI_Cancel(MPI_Request *request);
int MPI_Test_cancelled(const MPI_Status *status, int *flag);
int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count);
int MPI_Get_elements(const MPI_Status *status, MPI_Datatype type, int *count);
int MPI_Get_elements_x(const MPI_Status *status, MPI_Datatype type, MPI_Count *count);
int MPI_Status_set_elements(MPI_Status *status, MPI_Datatype type, int count);
int MPI_Status_set_elements_x(MPI_Status *status, MPI_Datatype type, MPI_Count count);
int MPI_Status_set_cancelled(MPI_Status *status, int flag);
int MPI_Buffer_attach(void *buffer, int bytes);
int MPI_Buffer_detach(void *address, int *bytes);

/* Datatypes. */
int MPI_Type_contiguous(int count, MPI_Datatype old, MPI_Datatype *made);
int MPI_Type_vector(int count, int length, int stride, MPI_Datatype old, MPI_Datatype *made);
int MPI_Type_create_hvector(int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *made);
int MPI_Type_indexed(int count, const int lengths[], const int displacements[], MPI_Datatype old, MPI_Datatype *made);
int MPI_Type_create_hindexed(int count, const int lengths[], const MPI_Aint displacements[], MPI_Datatype old,
                             MPI_Datatype *made);
int MPI_Type_create_indexed_block(int count, int length, const int displacements[], MPI_Datatype old,
                                  MPI_Datatype *made);
int MPI_Type_create_hindexed_block(int count, int length, const MPI_Aint displacements[], MPI_Datatype old,
                                   MPI_Datatype *made);
int MPI_Type_create_struct(int count, const int lengths[], const MPI_Aint displacements[], const MPI_Datatype types[],
                           MPI_Datatype *made);
int MPI_Type_create_resized(MPI_Datatype old, MPI_Aint lb, MPI_Aint extent, MPI_Datatype *made);
int MPI_Type_create_subarray(int dimensions, const int sizes[], const int subsizes[], const int starts[], int order,
                             MPI_Datatype old, MPI_Datatype *made);
int MPI_Type_hvector(int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *made);
int MPI_Type_hindexed(int count, int lengths[], MPI_Aint displacements[], MPI_Datatype old, MPI_Datatype *made);
int MPI_Type_struct(int count, int lengths[], MPI_Aint displacements[], MPI_Datatype types[], MPI_Datatype *made);
int MPI_Type_dup(MPI_Datatype old, MPI_Datatype *made);
int MPI_Type_commit(MPI_Datatype *type);
int MPI_Type_free(MPI_Datatype *type);
int MPI_Type_size(MPI_Datatype type, int *size);
int MPI_Type_size_x(MPI_Datatype type, MPI_Count *size);
int MPI_Type_get_extent(MPI_Datatype type, MPI_Aint *lb, MPI_Aint *extent);
int MPI_Type_get_true_extent(MPI_Datatype type, MPI_Aint *lb, MPI_Aint *extent);
int MPI_Type_extent(MPI_Datatype type, MPI_Aint *extent);
int MPI_Type_lb(MPI_Datatype type, MPI_Aint *lb);
int MPI_Type_ub(MPI_Datatype type, MPI_Aint *ub);
int MPI_Type_set_name(MPI_Datatype type, const char *name);
int MPI_Type_get_name(MPI_Datatype type, char *name, int *length);
int MPI_Pack(const void *from, int count, MPI_Datatype type, void *to, int bytes, int *position, MPI_Comm comm);
int MPI_Unpack(const void *from, int bytes, int *position, void *to, int count, MPI_Datatype type, MPI_Comm comm);
int MPI_Pack_size(int count, MPI_Datatype type, MPI_Comm comm, int *bytes);

/* Communicators, groups, attributes. */
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_size(MPI_Comm comm, int *size);
int MPI_Comm_remote_size(MPI_Comm comm, int *size);
int MPI_Comm_get_parent(MPI_Comm *parent);
int MPI_Comm_test_inter(MPI_Comm comm, int *flag);
int MPI_Comm_compare(MPI_Comm a, MPI_Comm b, int *result);
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *made);
int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *made);
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made);
int MPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *made);
int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *made);
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made);
int MPI_Comm_free(MPI_Comm *comm);
int MPI_Comm_group(MPI_Comm comm, MPI_Group *group);
int MPI_Comm_remote_group(MPI_Comm comm, MPI_Group *group);
int MPI_Comm_set_name(MPI_Comm comm, const char *name);
int MPI_Comm_get_name(MPI_Comm comm, char *name, int *length);
int MPI_Intercomm_create(MPI_Comm local, int leader, MPI_Comm peer, int remote_leader, int tag, MPI_Comm *made);
int MPI_Intercomm_merge(MPI_Comm inter, int high, MPI_Comm *made);
int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *destroy, int *keyval,
                           void *extra);
int MPI_Comm_free_keyval(int *keyval);
int MPI_Comm_set_attr(MPI_Comm comm, int keyval, void *value);
int MPI_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag);
int MPI_Comm_delete_attr(MPI_Comm comm, int keyval);
int MPI_Keyval_create(MPI_Copy_function *copy, MPI_Delete_function *destroy, int *keyval, void *extra);
int MPI_Keyval_free(int *keyval);
int MPI_Attr_put(MPI_Comm comm, int keyval, void *value);
int MPI_Attr_get(MPI_Comm comm, int keyval, void *value, int *flag);
int MPI_Attr_delete(MPI_Comm comm, int keyval);
int MPI_Group_size(MPI_Group group, int *size);
int MPI_Group_rank(MPI_Group group, int *rank);
int MPI_Group_translate_ranks(MPI_Group group, int count, const int ranks[], MPI_Group other, int translated[]);
int MPI_Group_compare(MPI_Group a, MPI_Group b, int *result);
int MPI_Group_union(MPI_Group a, MPI_Group b, MPI_Group *made);
int MPI_Group_intersection(MPI_Group a, MPI_Group b, MPI_Group *made);
int MPI_Group_difference(MPI_Group a, MPI_Group b, MPI_Group *made);
int MPI_Group_incl(MPI_Group group, int count, const int ranks[], MPI_Group *made);
int MPI_Group_excl(MPI_Group group, int count, const int ranks[], MPI_Group *made);
int MPI_Group_range_incl(MPI_Group group, int count, int ranges[][3], MPI_Group *made);
int MPI_Group_range_excl(MPI_Group group, int count, int ranges[][3], MPI_Group *made);
int MPI_Group_free(MPI_Group *group);

/* Cartesian topologies. */
int MPI_Dims_create(int nodes, int dimensions, int dims[]);
int MPI_Cart_create(MPI_Comm comm, int dimensions, const int dims[], const int periods[], int reorder, MPI_Comm *made);
int MPI_Cartdim_get(MPI_Comm comm, int *dimensions);
int MPI_Cart_get(MPI_Comm comm, int capacity, int dims[], int periods[], int coords[]);
int MPI_Cart_rank(MPI_Comm comm, const int coords[], int *rank);
int MPI_Cart_coords(MPI_Comm comm, int rank, int capacity, int coords[]);
int MPI_Cart_shift(MPI_Comm comm, int direction, int displacement, int *source, int *dest);
int MPI_Cart_sub(MPI_Comm comm, const int remains[], MPI_Comm *made);
int MPI_Cart_map(MPI_Comm comm, int dimensions, const int dims[], const int periods[], int *rank);
int MPI_Topo_test(MPI_Comm comm, int *kind);

/* Collectives. */
int MPI_Op_create(MPI_User_function *function, int commutes, MPI_Op *op);
int MPI_Op_free(MPI_Op *op);
int MPI_Op_commutative(MPI_Op op, int *commutes);
int MPI_Reduce_local(const void *in, void *inout, int count, MPI_Datatype type, MPI_Op op);
int MPI_Barrier(MPI_Comm comm);
int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request);
int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Reduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm);
int MPI_Allreduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Gather(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, int received_count,
               MPI_Datatype received_type, int root, MPI_Comm comm);
int MPI_Gatherv(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, const int counts[],
                const int displacements[], MPI_Datatype received_type, int root, MPI_Comm comm);
int MPI_Scatter(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, int received_count,
                MPI_Datatype received_type, int root, MPI_Comm comm);
int MPI_Scatterv(const void *sent, const int counts[], const int displacements[], MPI_Datatype sent_type,
                 void *received, int received_count, MPI_Datatype received_type, int root, MPI_Comm comm);
int MPI_Allgather(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, int received_count,
                  MPI_Datatype received_type, MPI_Comm comm);
int MPI_Allgatherv(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, const int counts[],
                   const int displacements[], MPI_Datatype received_type, MPI_Comm comm);
int MPI_Alltoall(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, int received_count,
                 MPI_Datatype received_type, MPI_Comm comm);
int MPI_Alltoallv(const void *sent, const int sent_counts[], const int sent_displacements[], MPI_Datatype sent_type,
                  void *received, const int received_counts[], const int received_displacements[],
                  MPI_Datatype received_type, MPI_Comm comm);
int MPI_Alltoallw(const void *sent, const int sent_counts[], const int sent_displacements[],
                  const MPI_Datatype sent_types[], void *received, const int received_counts[],
                  const int received_displacements[], const MPI_Datatype received_types[], MPI_Comm comm);
int MPI_Scan(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Exscan(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Reduce_scatter(const void *sent, void *received, const int counts[], MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm);
int MPI_Reduce_scatter_block(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);

/* Conversion of handles: they are equal. */
#define MPI_Comm_c2f(comm) ((MPI_Fint)(comm))
#define MPI_Comm_f2c(comm) ((MPI_Comm)(comm))
#define MPI_Type_c2f(type) ((MPI_Fint)(type))
#define MPI_Type_f2c(type) ((MPI_Datatype)(type))
#define MPI_Group_c2f(group) ((MPI_Fint)(group))
#define MPI_Group_f2c(group) ((MPI_Group)(group))
#define MPI_Request_c2f(request) ((MPI_Fint)(request))
#define MPI_Request_f2c(request) ((MPI_Request)(request))
#define MPI_Op_c2f(op) ((MPI_Fint)(op))
#define MPI_Op_f2c(op) ((MPI_Op)(op))

/* Calls that end the program with a message that names them; their arguments are not checked. */
#ifdef __cplusplus
#define MB_UNSUPPORTED(name) int name(...);
#else
#define MB_UNSUPPORTED(name) int name();
#endif
#include "mpi_unsupported.h"
#undef MB_UNSUPPORTED

#ifdef __cplusplus
}
#endif

#endif
