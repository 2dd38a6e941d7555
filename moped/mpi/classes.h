// SPDX-License-Identifier: Apache-2.0 OR MIT
// The classes of basic datatypes, as predefined operations see them.

#ifndef MB_CLASSES_H
#define MB_CLASSES_H

enum mb_class {
    MB_CLASS_NONE, // no predefined operation
    MB_CLASS_BYTE,
    MB_CLASS_INT8,
    MB_CLASS_INT16,
    MB_CLASS_INT32,
    MB_CLASS_INT64,
    MB_CLASS_UINT8,
    MB_CLASS_UINT16,
    MB_CLASS_UINT32,
    MB_CLASS_UINT64,
    MB_CLASS_BOOL,
    MB_CLASS_LOGICAL,
    MB_CLASS_FLOAT,
    MB_CLASS_DOUBLE,
    MB_CLASS_LONG_DOUBLE,
    MB_CLASS_COMPLEX_FLOAT,
    MB_CLASS_COMPLEX_DOUBLE,
    MB_CLASS_COMPLEX_LONG_DOUBLE,
    MB_CLASS_FLOAT_INT,
    MB_CLASS_DOUBLE_INT,
    MB_CLASS_LONG_INT,
    MB_CLASS_2INT,
    MB_CLASS_SHORT_INT,
    MB_CLASS_LONG_DOUBLE_INT,
    MB_CLASS_2FLOAT,
    MB_CLASS_2DOUBLE,
    MB_CLASSES
};

struct mb_float_int {
    float value;
    int index;
};
struct mb_double_int {
    double value;
    int index;
};
struct mb_long_int {
    long value;
    int index;
};
struct mb_2int {
    int value;
    int index;
};
struct mb_short_int {
    short value;
    int index;
};
struct mb_long_double_int {
    long double value;
    int index;
};
struct mb_2float {
    float value;
    float index;
};
struct mb_2double {
    double value;
    double index;
};

#endif
