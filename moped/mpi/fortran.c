// SPDX-License-Identifier: Apache-2.0 OR MIT
// Fortran bindings: environment, communicators, groups, topologies, datatypes. fortran.py generates the *.inc.

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
#include "fortran_environment.inc"

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

#include "fortran_communicators.inc"

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

#include "fortran_objects.inc"

void mpi_type_extent_(int *type, int *extent, int *error);
void mpi_type_extent_(int *type, int *extent, int *error)
{
    MPI_Aint wide = 0;
    const int result = MPI_Type_extent(*type, &wide);
    if (error != NULL) *error = result;
    *extent = (int)wide;
}
