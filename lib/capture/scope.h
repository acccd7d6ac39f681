/* Name resolution: the parser reports uses and bindings, tc_scopes_resolve assigns every name its slot. */
#ifndef TC_CAPTURE_SCOPE_H
#define TC_CAPTURE_SCOPE_H

#include "capture/ast.h"

scope *tc_scope_new(C *c, scope_kind k, scope *parent, file *f, str *name, int line, int col);
var *tc_scope_var(C *c, scope *s, str *name);  /* finds or adds the entry of a name */
var *tc_scope_bind(C *c, scope *s, str *name); /* ... and marks it as bound in this scope */
void tc_scope_use(C *c, scope *s, ast *name);
void tc_scopes_resolve(C *c, scope *root);
void tc_scopes_free(scope *root); /* frees temporary tables after resolution */

#endif
