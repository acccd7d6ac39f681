/* Block primitives on integers and bool: a section a type. */
#include "kernel/isa.h"
#include "kernel/isa_row.h"
#include "kernel/scalar.h"

#undef bool /* a suffix here */

#define PICK_F(...)
#define PICK_A(...) __VA_ARGS__
#define PICK_I(...) __VA_ARGS__
#define PICK_N(...) __VA_ARGS__
#define PICK_C(...)
#define PICK_E(...)
#define PICK_Z(...) __VA_ARGS__
#define TABLE(s)                                               \
    extern const tc_block_fn TC_ROW(tc_block_##s)[TC_X_COUNT]; \
    const tc_block_fn TC_ROW(tc_block_##s)[TC_X_COUNT]

#define T int8_t
#define S i8
#include "kernel/block_type.h"
TABLE(i8) = {
#define X(NAME, name, arity, types, result) PICK_##types([TC_X_##NAME] = B(name), )
#include "kernel/scalar.def"
#undef X
};
#undef T
#undef S

#define T int16_t
#define S i16
#include "kernel/block_type.h"
TABLE(i16) = {
#define X(NAME, name, arity, types, result) PICK_##types([TC_X_##NAME] = B(name), )
#include "kernel/scalar.def"
#undef X
};
#undef T
#undef S

#define T int32_t
#define S i32
#include "kernel/block_type.h"
TABLE(i32) = {
#define X(NAME, name, arity, types, result) PICK_##types([TC_X_##NAME] = B(name), )
#include "kernel/scalar.def"
#undef X
};
#undef T
#undef S

#define T int64_t
#define S i64
#include "kernel/block_type.h"
TABLE(i64) = {
#define X(NAME, name, arity, types, result) PICK_##types([TC_X_##NAME] = B(name), )
#include "kernel/scalar.def"
#undef X
};
#undef T
#undef S

#define T uint8_t
#define S u8
#include "kernel/block_type.h"
TABLE(u8) = {
#define X(NAME, name, arity, types, result) PICK_##types([TC_X_##NAME] = B(name), )
#include "kernel/scalar.def"
#undef X
};
#undef T
#undef S

#define T uint16_t
#define S u16
#include "kernel/block_type.h"
TABLE(u16) = {
#define X(NAME, name, arity, types, result) PICK_##types([TC_X_##NAME] = B(name), )
#include "kernel/scalar.def"
#undef X
};
#undef T
#undef S

#define T uint32_t
#define S u32
#include "kernel/block_type.h"
TABLE(u32) = {
#define X(NAME, name, arity, types, result) PICK_##types([TC_X_##NAME] = B(name), )
#include "kernel/scalar.def"
#undef X
};
#undef T
#undef S

#define T uint64_t
#define S u64
#include "kernel/block_type.h"
TABLE(u64) = {
#define X(NAME, name, arity, types, result) PICK_##types([TC_X_##NAME] = B(name), )
#include "kernel/scalar.def"
#undef X
};
#undef T
#undef S

#define T uint8_t
#define S bool
#undef PICK_N
#define PICK_N(...)
#include "kernel/block_type.h"
TABLE(bool) = {
#define X(NAME, name, arity, types, result) PICK_##types([TC_X_##NAME] = B(name), )
#include "kernel/scalar.def"
#undef X
};
#undef T
#undef S
