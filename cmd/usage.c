/* --help in its forms, all from the option table: text for people, a tab-separated list for tests, bash completion, mdoc. */
#include "capture/error_codes.h"
#include "base/text.h"
#include "cmd/internal.h"

#include <stdio.h>

static void print_usage_line(tc_buf *b, const tc_tool *t) {
    if (!t->commands) {
        tc_buf_printf(b, "usage: %s [OPTION...] %s\n", t->name, t->operands ? t->operands : "");
        return;
    }
    for (const tc_subcommand *s = t->commands; s->name; s++)
        tc_buf_printf(b, "%s %s %s [OPTION...] %s\n", s == t->commands ? "usage:" : "      ", t->name, s->name, s->operands);
}

/* Appends s word-wrapped to 100 columns, starting at column `at`, further lines indented by `indent`. */
static void wrap(tc_buf *b, const char *s, size_t at, size_t indent) {
    size_t col = at;
    while (*s) {
        size_t n = strcspn(s, " ");
        if (col > indent && col + 1 + n > 100) {
            tc_buf_printf(b, "\n%*s", (int)indent, "");
            col = indent;
        } else if (col > indent) {
            tc_buf_putc(b, ' ');
            col++;
        }
        tc_buf_append(b, s, n);
        col += n;
        s += n + strspn(s + n, " ");
    }
    tc_buf_putc(b, '\n');
}

static void option_head(tc_buf *b, const tc_option *o) {
    if (o->letter) tc_buf_printf(b, "-%c, ", o->letter);
    else tc_buf_puts(b, "    ");
    tc_buf_printf(b, "--%s", o->name);
    if (o->kind == TC_OPTION_OPT) tc_buf_printf(b, "[=%s]", o->arg);
    else if (o->kind != TC_OPTION_FLAG) tc_buf_printf(b, " %s", o->arg);
}

/* Lists the options of single subcommands, under each of them. */
static void print_own(tc_buf *b, const tc_opt_id *options, size_t column) {
    tc_buf list = {0};
    for (int i = 0; i < TC_OPT_COUNT; i++)
        if (tc_option_listed(options, (tc_opt_id)i)) tc_buf_printf(&list, "%s--%s", list.len ? ", " : "with ", tc_options[i].name);
    if (list.len) {
        tc_buf_printf(b, "%*s", (int)column, "");
        wrap(b, tc_buf_str(&list), column, column);
    }
    tc_buf_free(&list);
}

static void print_text(tc_buf *b, const tc_tool *t) {
    enum { COLUMN = 28 };
    print_usage_line(b, t);
    tc_buf_putc(b, '\n');
    wrap(b, t->summary, 0, 0);
    if (t->commands) {
        tc_buf_puts(b, "\nCommands:\n");
        for (const tc_subcommand *s = t->commands; s->name; s++) {
            size_t from = b->len;
            tc_buf_printf(b, "  %s %s", s->name, s->operands);
            size_t at = b->len - from;
            if (at + 2 > COLUMN) tc_buf_printf(b, "\n%*s", COLUMN, "");
            else tc_buf_printf(b, "%*s", (int)(COLUMN - at), "");
            wrap(b, s->summary, COLUMN, COLUMN);
            print_own(b, s->options, COLUMN);
        }
    }
    tc_buf_puts(b, "\nOptions:\n");
    for (int i = 0; i < TC_OPT_COUNT; i++) {
        if (!tc_tool_takes(t, (tc_opt_id)i)) continue;
        const tc_option *o = &tc_options[i];
        size_t from = b->len;
        tc_buf_puts(b, "  ");
        option_head(b, o);
        size_t at = b->len - from;
        if (at + 2 > COLUMN) tc_buf_printf(b, "\n%*s", COLUMN, "");
        else tc_buf_printf(b, "%*s", (int)(COLUMN - at), "");
        tc_buf s = {0};
        tc_buf_puts(&s, o->sentence);
        if (o->def) tc_buf_printf(&s, " (default: %s)", o->def);
        if (o->kind == TC_OPTION_MANY) tc_buf_puts(&s, "; may be repeated");
        wrap(b, tc_buf_str(&s), COLUMN, COLUMN);
        tc_buf_free(&s);
    }
    if (t->details) tc_buf_printf(b, "\n%s\n", t->details);
    tc_buf_puts(b, "\nExit status: 0 done, 1 environment, 2 usage, 3 bad content, 4 different, 5 not supported, 6 diverged, 75 saved and stopped.\n");
    tc_buf_printf(b, "Manual: man %s\n", t->name);
}

static void print_options(tc_buf *b, const tc_tool *t) {
    static const char *const kinds[] = {"flag", "value", "many", "optional"};
    for (const tc_subcommand *s = t->commands; s && s->name; s++) tc_buf_printf(b, "%s\t\tcommand\t%s\t\t%s\n", s->name, s->operands, s->summary);
    for (int i = 0; i < TC_OPT_COUNT; i++) {
        const tc_option *o = &tc_options[i];
        if (!tc_tool_takes(t, (tc_opt_id)i)) continue;
        char letter[3] = {'-', o->letter, 0};
        tc_buf_printf(b, "--%s\t%s\t%s\t%s\t%s\t%s\n", o->name, o->letter ? letter : "", kinds[o->kind], o->arg ? o->arg : "", o->def ? o->def : "",
                      o->sentence);
    }
}

static void print_bash(tc_buf *b, const tc_tool *t) {
    tc_buf_printf(b, "_%.2s_%s() {\n    local words='", t->name, t->name + 3);
    for (const tc_subcommand *s = t->commands; s && s->name; s++) tc_buf_printf(b, "%s ", s->name);
    for (int i = 0; i < TC_OPT_COUNT; i++)
        if (tc_tool_takes(t, (tc_opt_id)i)) tc_buf_printf(b, "--%s ", tc_options[i].name);
    tc_buf_printf(b,
                  "'\n    case ${COMP_WORDS[COMP_CWORD]} in\n    -*) COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"));;\n"
                  "    *) COMPREPLY=($(compgen -f -- \"${COMP_WORDS[COMP_CWORD]}\"));;\n    esac\n}\ncomplete -o filenames -F _%.2s_%s %s\n",
                  t->name, t->name + 3, t->name);
}

static void mdoc_text(tc_buf *b, const char *s) {
    if (*s == '.' || *s == '\'') tc_buf_puts(b, "\\&");
    for (; *s; s++) {
        if (*s == '\\') tc_buf_puts(b, "\\e");
        else tc_buf_putc(b, *s);
    }
}

static void print_man(tc_buf *b, const tc_tool *t) {
    tc_buf_puts(b, ".Bl -tag -width Ds\n");
    for (int i = 0; i < TC_OPT_COUNT; i++) {
        const tc_option *o = &tc_options[i];
        if (!tc_tool_takes(t, (tc_opt_id)i)) continue;
        tc_buf_puts(b, ".It ");
        if (o->letter) tc_buf_printf(b, "Fl %c , ", o->letter);
        tc_buf_printf(b, "Fl Fl %s", o->name);
        if (o->kind == TC_OPTION_OPT) tc_buf_printf(b, " Ns Op = Ns Ar %s", o->arg);
        else if (o->kind != TC_OPTION_FLAG) {
            tc_buf_puts(b, " Ar ");
            tc_buf_puts(b, o->arg);
        }
        tc_buf_putc(b, '\n');
        mdoc_text(b, o->sentence);
        tc_buf_puts(b, ".\n");
        if (o->def) {
            tc_buf_puts(b, "Default: ");
            mdoc_text(b, o->def);
            tc_buf_puts(b, ".\n");
        }
    }
    tc_buf_puts(b, ".El\n");
}

tc_status tc_cmd_print_help(const tc_cmd *c, const char *form) {
    static const struct {
        const char *name;
        void (*print)(tc_buf *b, const tc_tool *t);
    } forms[] = {{"text", print_text}, {"options", print_options}, {"bash", print_bash}, {"man", print_man}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strcmp(form ? form : "text", forms[i].name)) continue;
        tc_buf b = {0};
        forms[i].print(&b, c->tool);
        tc_cmd_show(stdout, b.data, b.len);
        tc_buf_free(&b);
        return NULL;
    }
    tc_buf b = {0};
    bool known = !strncmp(form, "TC", 2) && tc_capture_explain(&b, form);
    if (!strcmp(form, "codes")) known = true, tc_capture_codes_mdoc(&b);
    if (known) tc_cmd_show(stdout, b.data, b.len);
    tc_buf_free(&b);
    return known ? NULL : tc_usage(c, "--help=%s: expected text, options, bash, man, codes or an identifier as TC0123", form);
}
