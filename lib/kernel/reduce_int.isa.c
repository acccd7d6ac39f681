/* Reductions of integers and bool. */
#include "kernel/isa.h"
#include "kernel/isa_row.h"

#undef bool /* a suffix here */

#define T int8_t
#define S i8
#include "kernel/reduce_int.h"

#define T int16_t
#define S i16
#include "kernel/reduce_int.h"

#define T int32_t
#define S i32
#include "kernel/reduce_int.h"

#define T int64_t
#define S i64
#include "kernel/reduce_int.h"

#define T uint8_t
#define S u8
#include "kernel/reduce_int.h"

#define T uint16_t
#define S u16
#include "kernel/reduce_int.h"

#define T uint32_t
#define S u32
#include "kernel/reduce_int.h"

#define T uint64_t
#define S u64
#include "kernel/reduce_int.h"

#define T uint8_t
#define S bool
#include "kernel/reduce_int.h"
