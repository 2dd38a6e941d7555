// SPDX-License-Identifier: Apache-2.0 OR MIT
// Attributes of communicators.

#include "internal.h"

struct keyval {
    MPI_Comm_copy_attr_function *copy;
    MPI_Comm_delete_attr_function *destroy;
    void *extra;
    int refs; // 0: unused
};

enum { FIRST_KEYVAL = 16 };
static struct keyval *keyvals;
static int keyval_count;

static struct keyval *keyval_of(int keyval)
{
    const int index = keyval - FIRST_KEYVAL;
    return index >= 0 && index < keyval_count && keyvals[index].refs > 0 ? &keyvals[index] : NULL;
}

int mb_dup_attribute(MPI_Comm comm, int keyval, void *extra, void *from, void *to, int *flag)
{
    (void)comm, (void)keyval, (void)extra;
    *(void **)to = from;
    *flag = 1;
    return MPI_SUCCESS;
}

int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *destroy, int *keyval,
                           void *extra)
{
    int index = 0;
    while (index < keyval_count && keyvals[index].refs > 0)
        index++;
    if (index == keyval_count) {
        struct keyval *more = mb_allocate_zeroed((size_t)(2 * keyval_count + 8) * sizeof *more);
        if (keyval_count > 0) memcpy(more, keyvals, (size_t)keyval_count * sizeof *more);
        free(keyvals);
        keyvals = more;
        keyval_count = 2 * keyval_count + 8;
    }
    keyvals[index] = (struct keyval){copy, destroy, extra, 1};
    *keyval = FIRST_KEYVAL + index;
    return MPI_SUCCESS;
}

int MPI_Comm_free_keyval(int *keyval)
{
    struct keyval *k = keyval_of(*keyval);
    if (k == NULL) return mb_fail(NULL, __func__, MPI_ERR_KEYVAL, "key %d; expected one of the program's", *keyval);
    k->refs--;
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

static struct mb_attribute *find(struct mb_comm *comm, int keyval)
{
    for (struct mb_attribute *a = comm->attributes; a != NULL; a = a->next) {
        if (a->keyval == keyval) return a;
    }
    return NULL;
}

static int destroy(struct mb_comm *comm, struct mb_attribute *attribute)
{
    const struct keyval *k = &keyvals[attribute->keyval - FIRST_KEYVAL];
    return k->destroy == NULL ? MPI_SUCCESS
                              : k->destroy(comm->handle, attribute->keyval, attribute->value, k->extra);
}

int MPI_Comm_set_attr(MPI_Comm comm, int keyval, void *value)
{
    MB_CHECK_COMM(c, comm);
    struct keyval *k = keyval_of(keyval);
    if (k == NULL) return mb_fail(c, __func__, MPI_ERR_KEYVAL, "key %d; expected one of the program's", keyval);
    struct mb_attribute *attribute = find(c, keyval);
    if (attribute != NULL) {
        const int error = destroy(c, attribute);
        if (error != MPI_SUCCESS) return mb_raise(c, __func__, MPI_ERR_OTHER, "the delete function failed");
    } else {
        attribute = mb_allocate(sizeof *attribute);
        *attribute = (struct mb_attribute){c->attributes, keyval, NULL};
        c->attributes = attribute;
        k->refs++;
    }
    attribute->value = value;
    return MPI_SUCCESS;
}

int MPI_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag)
{
    static int tag_ub = MB_TAG_MAX, host = MPI_PROC_NULL, io = MPI_ANY_SOURCE, is_global = 1,
        last_code = MPI_ERR_LASTCODE;
    MB_CHECK_COMM(c, comm);
    *flag = 1;
    switch (keyval) {
        case MPI_TAG_UB: *(void **)value = &tag_ub; return MPI_SUCCESS;
        case MPI_HOST: *(void **)value = &host; return MPI_SUCCESS;
        case MPI_IO: *(void **)value = &io; return MPI_SUCCESS;
        case MPI_WTIME_IS_GLOBAL: *(void **)value = &is_global; return MPI_SUCCESS;
        case MPI_UNIVERSE_SIZE: *(void **)value = &mb.size; return MPI_SUCCESS;
        case MPI_LASTUSEDCODE: *(void **)value = &last_code; return MPI_SUCCESS;
        case MPI_APPNUM: *flag = 0; return MPI_SUCCESS;
        default: break;
    }
    if (keyval_of(keyval) == NULL && find(c, keyval) == NULL)
        return mb_fail(c, __func__, MPI_ERR_KEYVAL, "key %d; expected one of the program's or a predefined one",
                       keyval);
    const struct mb_attribute *attribute = find(c, keyval);
    *flag = attribute != NULL;
    if (attribute != NULL) *(void **)value = attribute->value;
    return MPI_SUCCESS;
}

static int delete_one(struct mb_comm *comm, struct mb_attribute **link, const char *call)
{
    struct mb_attribute *attribute = *link;
    if (destroy(comm, attribute) != MPI_SUCCESS) return mb_raise(comm, call, MPI_ERR_OTHER,
                                                                 "the delete function failed");
    keyvals[attribute->keyval - FIRST_KEYVAL].refs--;
    *link = attribute->next;
    free(attribute);
    return MPI_SUCCESS;
}

int MPI_Comm_delete_attr(MPI_Comm comm, int keyval)
{
    MB_CHECK_COMM(c, comm);
    for (struct mb_attribute **link = &c->attributes; *link != NULL; link = &(*link)->next) {
        if ((*link)->keyval == keyval) return delete_one(c, link, __func__);
    }
    return mb_fail(c, __func__, MPI_ERR_KEYVAL, "key %d; expected one that has a value", keyval);
}

int mb_attributes_delete(struct mb_comm *comm, const char *call)
{
    int error = MPI_SUCCESS;
    while (comm->attributes != NULL && error == MPI_SUCCESS)
        error = delete_one(comm, &comm->attributes, call);
    return error;
}

int mb_attributes_copy(struct mb_comm *from, struct mb_comm *to, const char *call)
{
    for (struct mb_attribute *a = from->attributes; a != NULL; a = a->next) {
        struct keyval *k = &keyvals[a->keyval - FIRST_KEYVAL];
        if (k->copy == NULL) continue;
        void *value;
        int flag = 0;
        if (k->copy(from->handle, a->keyval, k->extra, a->value, &value, &flag) != MPI_SUCCESS)
            return mb_raise(from, call, MPI_ERR_OTHER, "the copy function of an attribute failed");
        if (!flag) continue;
        struct mb_attribute *copy = mb_allocate(sizeof *copy);
        *copy = (struct mb_attribute){to->attributes, a->keyval, value};
        to->attributes = copy;
        k->refs++;
    }
    return MPI_SUCCESS;
}

int MPI_Keyval_create(MPI_Copy_function *copy, MPI_Delete_function *destroy_function, int *keyval, void *extra)
{
    return MPI_Comm_create_keyval(copy, destroy_function, keyval, extra);
}

int MPI_Keyval_free(int *keyval)
{
    return MPI_Comm_free_keyval(keyval);
}

int MPI_Attr_put(MPI_Comm comm, int keyval, void *value)
{
    return MPI_Comm_set_attr(comm, keyval, value);
}

int MPI_Attr_get(MPI_Comm comm, int keyval, void *value, int *flag)
{
    return MPI_Comm_get_attr(comm, keyval, value, flag);
}

int MPI_Attr_delete(MPI_Comm comm, int keyval)
{
    return MPI_Comm_delete_attr(comm, keyval);
}
