/* For sources that are compiled once for each row of isa.tab: the row's name pasted to a symbol, the row's vector width, and a
 * pragma that lets a loop be vectorised although its result may be one of its operands. */
#ifndef TC_KERNEL_ISA_ROW_H
#define TC_KERNEL_ISA_ROW_H

#define TC_ROW_PASTE_(name, row) name##_##row
#define TC_ROW_PASTE(name, row) TC_ROW_PASTE_(name, row)
#define TC_ROW(name) TC_ROW_PASTE(name, TC_ISA)

#if defined TC_ISA_avx512
enum { ROW_BYTES = 64 };
#elif defined TC_ISA_avx2
enum { ROW_BYTES = 32 };
#else
enum { ROW_BYTES = 16 };
#endif

#ifdef __clang__
#define TC_VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define TC_VECTOR_LOOP _Pragma("GCC ivdep")
#endif

#endif
