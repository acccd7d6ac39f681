/* Block primitives on integers and bool. */
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

#define T int8_t
#define S i8
#include "kernel/block_type.h"
#include "kernel/block_table.h"

#define T int16_t
#define S i16
#include "kernel/block_type.h"
#include "kernel/block_table.h"

#define T int32_t
#define S i32
#include "kernel/block_type.h"
#include "kernel/block_table.h"

#define T int64_t
#define S i64
#include "kernel/block_type.h"
#include "kernel/block_table.h"

#define T uint8_t
#define S u8
#include "kernel/block_type.h"
#include "kernel/block_table.h"

#define T uint16_t
#define S u16
#include "kernel/block_type.h"
#include "kernel/block_table.h"

#define T uint32_t
#define S u32
#include "kernel/block_type.h"
#include "kernel/block_table.h"

#define T uint64_t
#define S u64
#include "kernel/block_type.h"
#include "kernel/block_table.h"

#define T uint8_t
#define S bool
#undef PICK_N
#define PICK_N(...)
#include "kernel/block_type.h"
#include "kernel/block_table.h"
