/* What names mean: the parser reports uses and bindings, tc_scopes_resolve gives every name its slot. */
#ifndef TC_CAPTURE_SCOPE_H
#define TC_CAPTURE_SCOPE_H

#include "capture/ast.h"

scope *tc_scope_new(C *c, scope_kind k, scope *parent, file *f, str *name, int line, int col);
var *tc_scope_var(C *c, scope *s, str *name);  /* the entry of the name, made when new */
var *tc_scope_bind(C *c, scope *s, str *name); /* ... as bound here */
void tc_scope_use(C *c, scope *s, ast *name);
void tc_scopes_resolve(C *c, scope *root);
void tc_scopes_free(scope *root); /* the growing parts, once resolved */

#endif
