/* The wire format of protocol buffers: a tag (field << 3 | wire type), then a varint, 8 or 4 bytes, or a length and as many bytes. */
#include "file/protobuf.h"

#include <stdarg.h>
#include <string.h>

#include "base/mem.h"

tc_pb tc_pb_open(const char *name, const void *data, size_t n) {
    const unsigned char *p = n ? data : (const unsigned char *)"";
    return (tc_pb){.name = name, .whole = p, .at = p, .end = p + n};
}

static void fail_at(tc_pb *m, tc_code code, const unsigned char *where, const char *text) {
    if (!m->status) m->status = tc_error_at(code, (tc_place){.file = m->name, .offset = where - m->whole}, "%s", text);
    m->at = m->end;
    m->len = 0;
}

void tc_pb_fail(tc_pb *m, tc_code code, const char *fmt, ...) {
    tc_buf b = {0};
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    fail_at(m, code, m->at, tc_buf_str(&b));
    tc_buf_free(&b);
}

/* A varint of at most ten bytes that fits 64 bits. */
static bool varint(tc_pb *m, const unsigned char **at, const unsigned char *end, uint64_t *out) {
    const unsigned char *start = *at;
    uint64_t v = 0;
    for (int i = 0; i < 10; i++) {
        if (*at == end) {
            fail_at(m, TC_CONTENT, start, "a number is cut short");
            return false;
        }
        unsigned char c = *(*at)++;
        if (i == 9 && c > 1) break;
        v |= (uint64_t)(c & 0x7f) << (7 * i);
        if (!(c & 0x80)) {
            *out = v;
            return true;
        }
    }
    fail_at(m, TC_CONTENT, start, "a number is longer than 64 bits");
    return false;
}

static uint64_t fixed(const unsigned char *p, int width) {
    uint64_t v = 0;
    for (int i = 0; i < width; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

bool tc_pb_next(tc_pb *m) {
    if (m->status || m->at == m->end) return false;
    const unsigned char *start = m->at;
    uint64_t tag, n;
    if (!varint(m, &m->at, m->end, &tag)) return false;
    m->wire = (tc_pb_wire)(tag & 7);
    m->bytes = NULL, m->len = 0, m->number = 0;
    if (tag >> 3 == 0 || tag >> 3 > TC_PB_MAX_FIELD) {
        fail_at(m, TC_CONTENT, start, "a field number is not between 1 and 536870911: no protocol buffer");
        return false;
    }
    m->field = (uint32_t)(tag >> 3);
    switch (m->wire) {
    case TC_PB_VARINT: return varint(m, &m->at, m->end, &m->number);
    case TC_PB_I64:
    case TC_PB_I32: {
        int width = m->wire == TC_PB_I64 ? 8 : 4;
        if (m->end - m->at < width) break;
        m->number = fixed(m->at, width);
        m->at += width;
        return true;
    }
    case TC_PB_LEN:
        if (!varint(m, &m->at, m->end, &n)) return false;
        if (n > (uint64_t)(m->end - m->at)) break;
        m->bytes = m->at, m->len = (size_t)n;
        m->at += n;
        return true;
    default: fail_at(m, TC_CONTENT, start, "a group or an unknown wire type: ONNX files have none"); return false;
    }
    tc_buf b = {0};
    tc_buf_printf(&b, "field %u reaches beyond the end of what holds it (%zu bytes are left)", m->field, (size_t)(m->end - m->at));
    fail_at(m, TC_CONTENT, start, tc_buf_str(&b));
    tc_buf_free(&b);
    return false;
}

static bool expect(tc_pb *m, tc_pb_wire w) {
    if (m->status) return false;
    if (m->wire == w) return true;
    tc_pb_fail(m, TC_CONTENT, "field %u has wire type %d, expected %d", m->field, (int)m->wire, (int)w);
    return false;
}

int64_t tc_pb_int(tc_pb *m) { return expect(m, TC_PB_VARINT) ? (int64_t)m->number : 0; }

float tc_pb_float(tc_pb *m) {
    float f = 0;
    uint32_t bits = expect(m, TC_PB_I32) ? (uint32_t)m->number : 0;
    memcpy(&f, &bits, sizeof f);
    return f;
}

bool tc_pb_bytes(tc_pb *m, const char **out, size_t *out_len) {
    bool ok = expect(m, TC_PB_LEN);
    *out = ok ? (const char *)m->bytes : "";
    *out_len = ok ? m->len : 0;
    return ok;
}

tc_pb tc_pb_message(tc_pb *m) {
    tc_pb s = *m;
    bool ok = expect(m, TC_PB_LEN);
    if (ok && m->depth + 1 > TC_PB_DEPTH) {
        tc_pb_fail(m, TC_CONTENT, "messages nest more than %d deep", TC_PB_DEPTH);
        ok = false;
    }
    s.depth = m->depth + 1;
    s.at = ok ? m->bytes : m->end;
    s.end = ok ? m->bytes + m->len : m->end;
    s.status = m->status; /* a message that could not be opened is ignored */
    return s;
}

void tc_pb_close(tc_pb *m, tc_pb *sub) {
    if (m->status && sub->status != m->status) tc_status_free(sub->status);
    if (m->status || !sub->status) return;
    m->status = sub->status;
    sub->status = NULL;
    m->at = m->end;
}

size_t tc_pb_count(tc_pb *m, int width) {
    if (m->status) return 0;
    if (m->wire != TC_PB_LEN) {
        tc_pb_wire w = width == 8 ? TC_PB_I64 : width == 4 ? TC_PB_I32 : TC_PB_VARINT;
        return expect(m, w) ? 1 : 0;
    }
    size_t n = 0;
    if (width == 0) {
        for (size_t i = 0; i < m->len; i++) n += !(m->bytes[i] & 0x80); /* the last byte of a varint has bit 7 clear */
        if (m->len && (m->bytes[m->len - 1] & 0x80)) {
            tc_pb_fail(m, TC_CONTENT, "field %u: its last number is cut short", m->field);
            return 0;
        }
        return n;
    }
    if (m->len % (size_t)width) {
        tc_pb_fail(m, TC_CONTENT, "field %u: %zu bytes are no whole number of elements of %d", m->field, m->len, width);
        return 0;
    }
    return m->len / (size_t)width;
}

uint64_t tc_pb_element(tc_pb *m, int width) {
    uint64_t v = 0;
    if (m->status) return 0;
    if (m->wire != TC_PB_LEN) return m->number;
    const unsigned char *end = m->bytes + m->len;
    if (width) {
        v = fixed(m->bytes, width);
        m->bytes += width;
    } else if (!varint(m, &m->bytes, end, &v)) {
        return 0;
    }
    m->len = (size_t)(end - m->bytes);
    return v;
}
