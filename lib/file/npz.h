/* NumPy's .npz: a ZIP of .npy files, stored (savez) or deflated (savez_compressed). */
#ifndef TC_FILE_NPZ_H
#define TC_FILE_NPZ_H

#include "file/tensors.h"
#include "file/zip.h"

bool tc_npz_is(const tc_zip *z); /* every entry is NAME.npy, and there is one */
/* Names without ".npy". Stored entries are views of the mapped file; checksums are compared where that is little work. Arrays of types that
 * tc lacks (strings, records) are left out by name. */
tc_status tc_npz_read(const tc_zip *z, tc_tensors *out);

#endif
