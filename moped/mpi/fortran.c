// SPDX-License-Identifier: Apache-2.0 OR MIT
// Fortran bindings: environment, communicators, groups, topologies, datatypes.

#include "fortran.h"

_Static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(int), "MPI_STATUS_SIZE");

// The alignment that gfortran gives a common block.
_Alignas(16) struct mb_fortran_constants mb_fortran_;
int mb_f08_bottom, mb_f08_in_place;
MPI_Status mb_f08_status_ignore, mb_f08_statuses_ignore[1];

// Handles of mpi_f08 are equal if their integers are.
#define COMPARE(handle)                                                                                                \
    int mb_f08_##handle##_same_(const int *a, const int *b);                                                           \
    int mb_f08_##handle##_same_(const int *a, const int *b)                                                            \
    {                                                                                                                  \
        return *a == *b;                                                                                               \
    }                                                                                                                  \
    int mb_f08_##handle##_other_(const int *a, const int *b);                                                          \
    int mb_f08_##handle##_other_(const int *a, const int *b)                                                           \
    {                                                                                                                  \
        return *a != *b;                                                                                               \
    }

COMPARE(comm)
COMPARE(group)
COMPARE(datatype)
COMPARE(request)
COMPARE(op)
COMPARE(errhandler)
COMPARE(message)
COMPARE(info)

// Copies a C string, with blanks behind it.
static void give_text(char *to, size_t to_length, const char *text)
{
    size_t n = strlen(text);
    if (n > to_length) n = to_length;
    memcpy(to, text, n);
    memset(to + n, ' ', to_length - n);
}

CALL(init, (int *error), MPI_Init(NULL, NULL))
CALL(init_thread, (int *required, int *provided, int *error), MPI_Init_thread(NULL, NULL, *required, provided))
CALL(query_thread, (int *provided, int *error), MPI_Query_thread(provided))
CALL(initialized, (int *flag, int *error), MPI_Initialized(flag))
CALL(finalize, (int *error), MPI_Finalize())
CALL(finalized, (int *flag, int *error), MPI_Finalized(flag))
CALL(abort, (int *comm, int *code, int *error), MPI_Abort(*comm, *code))
CALL(get_version, (int *version, int *subversion, int *error), MPI_Get_version(version, subversion))
CALL(error_class, (int *code, int *class, int *error), MPI_Error_class(*code, class))
CALL(get_address, (void *location, MPI_Aint *address, int *error), MPI_Get_address(mb_buffer(location), address))
CALL(pcontrol, (int *level, int *error), MPI_Pcontrol(*level))

double mpi_wtime_(void);
double mpi_wtime_(void)
{
    return MPI_Wtime();
}

double mpi_wtick_(void);
double mpi_wtick_(void)
{
    return MPI_Wtick();
}

void mpi_get_processor_name_(char *name, int *used, int *error, size_t length);
void mpi_get_processor_name_(char *name, int *used, int *error, size_t length)
{
    char text[MPI_MAX_PROCESSOR_NAME];
    const int result = MPI_Get_processor_name(text, used);
    if (error != NULL) *error = result;
    give_text(name, length, text);
}

void mpi_error_string_(int *code, char *name, int *used, int *error, size_t length);
void mpi_error_string_(int *code, char *name, int *used, int *error, size_t length)
{
    char text[MPI_MAX_ERROR_STRING];
    const int result = MPI_Error_string(*code, text, used);
    if (error != NULL) *error = result;
    give_text(name, length, text);
}

CALL(comm_rank, (int *comm, int *rank, int *error), MPI_Comm_rank(*comm, rank))
CALL(comm_size, (int *comm, int *size, int *error), MPI_Comm_size(*comm, size))
CALL(comm_remote_size, (int *comm, int *size, int *error), MPI_Comm_remote_size(*comm, size))
CALL(comm_test_inter, (int *comm, int *flag, int *error), MPI_Comm_test_inter(*comm, flag))
CALL(comm_compare, (int *a, int *b, int *result, int *error), MPI_Comm_compare(*a, *b, result))
CALL(comm_dup, (int *comm, int *made, int *error), MPI_Comm_dup(*comm, made))
CALL(comm_split, (int *comm, int *color, int *key, int *made, int *error), MPI_Comm_split(*comm, *color, *key, made))
CALL(comm_split_type, (int *comm, int *type, int *key, int *info, int *made, int *error),
     MPI_Comm_split_type(*comm, *type, *key, *info, made))
CALL(comm_create, (int *comm, int *group, int *made, int *error), MPI_Comm_create(*comm, *group, made))
CALL(comm_create_group, (int *comm, int *group, int *tag, int *made, int *error),
     MPI_Comm_create_group(*comm, *group, *tag, made))
CALL(comm_free, (int *comm, int *error), MPI_Comm_free(comm))
CALL(comm_group, (int *comm, int *group, int *error), MPI_Comm_group(*comm, group))
CALL(comm_set_errhandler, (int *comm, int *handler, int *error), MPI_Comm_set_errhandler(*comm, *handler))
CALL(errhandler_set, (int *comm, int *handler, int *error), MPI_Comm_set_errhandler(*comm, *handler))
CALL(intercomm_create, (int *local, int *leader, int *peer, int *remote, int *tag, int *made, int *error),
     MPI_Intercomm_create(*local, *leader, *peer, *remote, *tag, made))
CALL(intercomm_merge, (int *inter, int *high, int *made, int *error), MPI_Intercomm_merge(*inter, *high, made))

// Predefined attributes: the value, not its address.
static int get_attribute(int comm, int keyval, int *flag)
{
    int *value = NULL;
    *flag = 0;
    const int error = MPI_Comm_get_attr(comm, keyval, &value, flag);
    return error == MPI_SUCCESS && *flag ? *value : 0;
}

void mpi_comm_get_attr_(int *comm, int *keyval, MPI_Aint *value, int *flag, int *error);
void mpi_comm_get_attr_(int *comm, int *keyval, MPI_Aint *value, int *flag, int *error)
{
    *value = get_attribute(*comm, *keyval, flag);
    const int result = MPI_SUCCESS;
    if (error != NULL) *error = result;
}

void mpi_attr_get_(int *comm, int *keyval, int *value, int *flag, int *error);
void mpi_attr_get_(int *comm, int *keyval, int *value, int *flag, int *error)
{
    *value = get_attribute(*comm, *keyval, flag);
    const int result = MPI_SUCCESS;
    if (error != NULL) *error = result;
}

CALL(group_size, (int *group, int *size, int *error), MPI_Group_size(*group, size))
CALL(group_rank, (int *group, int *rank, int *error), MPI_Group_rank(*group, rank))
CALL(group_translate_ranks, (int *group, int *count, int *ranks, int *other, int *translated, int *error),
     MPI_Group_translate_ranks(*group, *count, ranks, *other, translated))
CALL(group_compare, (int *a, int *b, int *result, int *error), MPI_Group_compare(*a, *b, result))
CALL(group_union, (int *a, int *b, int *made, int *error), MPI_Group_union(*a, *b, made))
CALL(group_intersection, (int *a, int *b, int *made, int *error), MPI_Group_intersection(*a, *b, made))
CALL(group_difference, (int *a, int *b, int *made, int *error), MPI_Group_difference(*a, *b, made))
CALL(group_incl, (int *group, int *count, int *ranks, int *made, int *error),
     MPI_Group_incl(*group, *count, ranks, made))
CALL(group_excl, (int *group, int *count, int *ranks, int *made, int *error),
     MPI_Group_excl(*group, *count, ranks, made))
CALL(group_range_incl, (int *group, int *count, int ranges[][3], int *made, int *error),
     MPI_Group_range_incl(*group, *count, ranges, made))
CALL(group_range_excl, (int *group, int *count, int ranges[][3], int *made, int *error),
     MPI_Group_range_excl(*group, *count, ranges, made))
CALL(group_free, (int *group, int *error), MPI_Group_free(group))

CALL(dims_create, (int *nodes, int *dimensions, int *dims, int *error), MPI_Dims_create(*nodes, *dimensions, dims))
CALL(cart_create,
     (int *comm, int *dimensions, int *dims, int *periods, int *reorder, int *made, int *error),
     MPI_Cart_create(*comm, *dimensions, dims, periods, *reorder, made))
CALL(cartdim_get, (int *comm, int *dimensions, int *error), MPI_Cartdim_get(*comm, dimensions))
CALL(cart_get, (int *comm, int *capacity, int *dims, int *periods, int *coords, int *error),
     MPI_Cart_get(*comm, *capacity, dims, periods, coords))
CALL(cart_rank, (int *comm, int *coords, int *rank, int *error), MPI_Cart_rank(*comm, coords, rank))
CALL(cart_coords, (int *comm, int *rank, int *capacity, int *coords, int *error),
     MPI_Cart_coords(*comm, *rank, *capacity, coords))
CALL(cart_shift, (int *comm, int *direction, int *displacement, int *source, int *dest, int *error),
     MPI_Cart_shift(*comm, *direction, *displacement, source, dest))
CALL(cart_sub, (int *comm, int *remains, int *made, int *error), MPI_Cart_sub(*comm, remains, made))
CALL(topo_test, (int *comm, int *kind, int *error), MPI_Topo_test(*comm, kind))

CALL(type_contiguous, (int *count, int *old, int *made, int *error), MPI_Type_contiguous(*count, *old, made))
CALL(type_vector, (int *count, int *length, int *stride, int *old, int *made, int *error),
     MPI_Type_vector(*count, *length, *stride, *old, made))
CALL(type_create_hvector, (int *count, int *length, MPI_Aint *stride, int *old, int *made, int *error),
     MPI_Type_create_hvector(*count, *length, *stride, *old, made))
CALL(type_hvector, (int *count, int *length, int *stride, int *old, int *made, int *error),
     MPI_Type_create_hvector(*count, *length, *stride, *old, made))
CALL(type_indexed, (int *count, int *lengths, int *displacements, int *old, int *made, int *error),
     MPI_Type_indexed(*count, lengths, displacements, *old, made))
CALL(type_create_hindexed, (int *count, int *lengths, MPI_Aint *displacements, int *old, int *made, int *error),
     MPI_Type_create_hindexed(*count, lengths, displacements, *old, made))
CALL(type_create_indexed_block, (int *count, int *length, int *displacements, int *old, int *made, int *error),
     MPI_Type_create_indexed_block(*count, *length, displacements, *old, made))
CALL(type_create_struct,
     (int *count, int *lengths, MPI_Aint *displacements, int *types, int *made, int *error),
     MPI_Type_create_struct(*count, lengths, displacements, types, made))
CALL(type_create_resized, (int *old, MPI_Aint *lb, MPI_Aint *extent, int *made, int *error),
     MPI_Type_create_resized(*old, *lb, *extent, made))
CALL(type_create_subarray,
     (int *dimensions, int *sizes, int *subsizes, int *starts, int *order, int *old, int *made, int *error),
     MPI_Type_create_subarray(*dimensions, sizes, subsizes, starts, *order, *old, made))
CALL(type_dup, (int *old, int *made, int *error), MPI_Type_dup(*old, made))
CALL(type_commit, (int *type, int *error), MPI_Type_commit(type))
CALL(type_free, (int *type, int *error), MPI_Type_free(type))
CALL(type_size, (int *type, int *size, int *error), MPI_Type_size(*type, size))
CALL(type_get_extent, (int *type, MPI_Aint *lb, MPI_Aint *extent, int *error), MPI_Type_get_extent(*type, lb, extent))
CALL(type_get_true_extent, (int *type, MPI_Aint *lb, MPI_Aint *extent, int *error),
     MPI_Type_get_true_extent(*type, lb, extent))
CALL(pack, (void *from, int *count, int *type, void *to, int *bytes, int *position, int *comm, int *error),
     MPI_Pack(mb_buffer(from), *count, *type, to, *bytes, position, *comm))
CALL(unpack, (void *from, int *bytes, int *position, void *to, int *count, int *type, int *comm, int *error),
     MPI_Unpack(from, *bytes, position, mb_buffer(to), *count, *type, *comm))
CALL(pack_size, (int *count, int *type, int *comm, int *bytes, int *error),
     MPI_Pack_size(*count, *type, *comm, bytes))

void mpi_type_extent_(int *type, int *extent, int *error);
void mpi_type_extent_(int *type, int *extent, int *error)
{
    MPI_Aint wide = 0;
    const int result = MPI_Type_extent(*type, &wide);
    if (error != NULL) *error = result;
    *extent = (int)wide;
}
