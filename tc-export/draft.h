/* --draft: when a capture needs a data-dependent value, runs the program so far on the example inputs; writes the report (capture/draft.h). */
#ifndef TC_EXPORT_DRAFT_H
#define TC_EXPORT_DRAFT_H

#include "cmd/source.h"

typedef struct {
    tc_cmd *c;
    const tc_cmd_source *q;
} draft;

/* Makes q's request a draft; every input must have an example value. d must outlive the request. */
tc_status draft_start(tc_cmd *c, tc_cmd_source *q, draft *d);
tc_status draft_report(tc_cmd *c, const char *operand, const tc_capture_result *r);

#endif
