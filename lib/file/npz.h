/* NumPy's .npz: a ZIP of .npy files, stored (savez) or deflated (savez_compressed). */
#ifndef TC_FILE_NPZ_H
#define TC_FILE_NPZ_H

#include "file/tensors.h"
#include "file/zip.h"

bool tc_npz_is(const tc_zip *z); /* are all entries NAME.npy, and at least one? */
/* Reads all arrays under their names without ".npy". Stored entries are views of the mapped file; checksums are verified where that is cheap. Arrays of
 * unsupported types (strings, records) are skipped and listed in out->left_out. */
tc_status tc_npz_read(const tc_zip *z, tc_tensors *out);

#endif
