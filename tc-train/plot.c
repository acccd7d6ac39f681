/* --plot DIR...: plots the losses of runs in characters, one letter per run. */
#include "base/json.h"
#include "tc-train/tool.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 72, HEIGHT = 20 };
typedef struct {
    double step, loss;
} point;
typedef struct {
    TC_VEC(point) points;
} curve;

static tc_status read_curve(const char *dir, curve *out) {
    tc_buf path = {0}, b = {0};
    tc_buf_printf(&path, "%s/metrics.jsonl", dir);
    tc_status s = tc_file_read(path.data, (size_t)1 << 30, &b);
    for (size_t i = 0; i < b.len && !s;) {
        size_t n = strcspn(b.data + i, "\n");
        tc_jread j;
        point p = {NAN, NAN};
        tc_jr_init(&j, path.data, b.data + i, n);
        tc_jr_object(&j);
        for (tc_str key; tc_jr_member(&j, &key);) {
            if (tc_str_is(key, "step")) p.step = (double)tc_jr_int(&j);
            else if (tc_str_is(key, "loss") && tc_jr_peek(&j) == TC_JR_NUMBER) p.loss = tc_jr_double(&j);
            else tc_jr_skip(&j);
        }
        tc_status_free(tc_jr_finish(&j)); /* the last line of an active run may be incomplete */
        if (isfinite(p.step) && isfinite(p.loss)) tc_vec_push(&out->points, p);
        i += n + 1;
    }
    if (!s && !out->points.len) s = tc_error(TC_CONTENT, "%s: no losses in it", path.data);
    tc_buf_free(&path);
    tc_buf_free(&b);
    return s;
}

/* The position of a fraction in 0..1 on an axis of n characters; values outside are drawn at the edge. */
static int place(double share, int n) { return share > 0 ? (int)(fmin(share, 1) * (n - 1) + 0.5) : 0; }

static void draw(const tc_cmd *c, const curve *all) {
    double lo = INFINITY, hi = -INFINITY, last = 1;
    for (int k = 0; k < c->noperands; k++)
        for (size_t i = 0; i < all[k].points.len; i++) {
            const point *p = &all[k].points.data[i];
            lo = fmin(lo, p->loss);
            hi = fmax(hi, p->loss);
            last = fmax(last, p->step);
        }
    if (hi == lo) hi = lo + 1;
    char grid[HEIGHT][WIDTH + 1];
    for (int y = 0; y < HEIGHT; y++) {
        memset(grid[y], ' ', WIDTH);
        grid[y][WIDTH] = 0;
    }
    for (int k = 0; k < c->noperands; k++)
        for (size_t i = 0; i < all[k].points.len; i++) {
            const point *p = &all[k].points.data[i];
            grid[place((hi / 2 - p->loss / 2) / (hi / 2 - lo / 2), HEIGHT)][place(p->step / last, WIDTH)] = (char)('a' + k % 26);
        }
    for (int y = 0; y < HEIGHT; y++) printf("%10.4g |%s\n", hi * ((HEIGHT - 1.0 - y) / (HEIGHT - 1)) + lo * ((double)y / (HEIGHT - 1)), grid[y]);
    printf("%10s +", "");
    for (int x = 0; x < WIDTH; x++) putchar('-');
    printf("\n%10s  1%*.0f\n", "", WIDTH - 1, last);
    for (int k = 0; k < c->noperands; k++) printf("  %c  %s\n", 'a' + k % 26, c->operands[k]);
}

tc_status plot_runs(tc_cmd *c) {
    if (!c->noperands) return tc_usage(c, "--plot needs run directories");
    curve *all = tc_xcalloc((size_t)c->noperands, sizeof *all);
    tc_status s = NULL;
    for (int k = 0; k < c->noperands && !s; k++) s = read_curve(c->operands[k], &all[k]);
    if (!s) draw(c, all);
    for (int k = 0; k < c->noperands; k++) tc_vec_free(&all[k].points);
    free(all);
    return s;
}
