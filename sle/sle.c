/* SPDX-License-Identifier: Apache-2.0 */
/* Words for numbers, and names that can be judged by themselves. */
#include "sle/sle.h"

#include <stdio.h>

const char *sle_service_text(enum sle_service service)
{
    switch (service) {
    case SLE_RAF:
        return "raf";
    case SLE_RCF:
        return "rcf";
    case SLE_ROCF:
        return "rocf";
    case SLE_FCLTU:
        return "cltu";
    }
    return "unknown";
}

const char *sle_mode_text(enum sle_mode mode)
{
    static const char *const texts[] = {"onlt", "onlc", "offl", "fwd"};
    return (unsigned)mode < sizeof texts / sizeof texts[0] ? texts[mode] : "unknown";
}

const char *sle_abort_text(unsigned diagnostic)
{
    SLE_TEXT_OF(SLE_ABORTS, diagnostic, "a diagnostic without a name");
}

const char *sle_bind_text(unsigned diagnostic)
{
    SLE_TEXT_OF(SLE_BIND_DIAGS, diagnostic, "a diagnostic without a name");
}

const char *sle_parameter_text(unsigned parameter)
{
    SLE_TEXT_OF(SLE_PARAMETERS, parameter, "unknown");
}

static bool is_name(const char *text, size_t min, size_t max)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++)
        if (text[i] < 0x21 || text[i] > 0x7e)
            return false;
    return len >= min && len <= max;
}

bool sle_authority_ok(const char *text)
{
    return is_name(text, SLE_AUTHORITY_MIN, SLE_AUTHORITY_MAX);
}

bool sle_port_name_ok(const char *text)
{
    return is_name(text, 1, SLE_PORT_NAME_MAX);
}

bool sle_gvcid_ok(struct sle_gvcid g)
{
    bool version = g.version <= 3 ? g.scid <= 1023 : g.version == SLE_VERSION_USLP;
    return version && (g.vcid <= 63 || g.vcid == SLE_MASTER);
}

/* 732.1-B 4.1.2: version 4 bits, spacecraft 16, whose it is 1, virtual channel 6, MAP 4. A
 * truncated header begins likewise. */
static bool read_uslp(struct slice frame, struct sle_gvcid *out)
{
    const uint8_t *d = frame.data;
    if (frame.len < 4 || d[0] >> 4 != SLE_VERSION_USLP)
        return false;
    *out = (struct sle_gvcid){.version = SLE_VERSION_USLP,
                              .scid = (uint16_t)((d[0] & 15) << 12 | d[1] << 4 | d[2] >> 4),
                              .vcid = (uint8_t)((d[2] & 7) << 3 | d[3] >> 5)};
    return true;
}

/* Version 00 TM, 01 AOS, 1100 USLP. */
bool sle_gvcid_of_frame(struct slice frame, struct sle_gvcid *out)
{
    if (frame.len < 2)
        return false;
    unsigned head = (unsigned)frame.data[0] << 8 | frame.data[1];
    switch (head >> 14) {
    case 0:
        *out = (struct sle_gvcid){.version = 0, .scid = head >> 4 & 0x3ff, .vcid = head >> 1 & 7};
        return true;
    case 1:
        *out = (struct sle_gvcid){.version = 1, .scid = head >> 6 & 0xff, .vcid = head & 0x3f};
        return true;
    case 3:
        return read_uslp(frame, out);
    default:
        return false;
    }
}

bool sle_gvcid_has(struct sle_gvcid set, struct sle_gvcid one)
{
    return set.version == one.version && set.scid == one.scid &&
           (set.vcid == SLE_MASTER || set.vcid == one.vcid);
}

/* "name=value", and a '.' unless it is the last; the value to *value. NULL: not so. */
static const char *read_attribute(const char *p, const char *name, bool last, const char **value,
                                  size_t *len)
{
    size_t n = strlen(name);
    if (strncmp(p, name, n) != 0 || p[n] != '=')
        return NULL;
    *value = p + n + 1;
    for (p = *value; *p != '\0' && *p != '.'; p++)
        if (*p == '=' || *p < 0x21 || *p > 0x7e)
            return NULL;
    *len = (size_t)(p - *value);
    if (*len == 0 || (*p == '\0') != last)
        return NULL;
    return last ? p : p + 1;
}

struct kind {
    const char *name;
    enum sle_service service;
};
static const struct kind kinds[] = {
    {"raf", SLE_RAF}, {"rcf", SLE_RCF}, {"rocf", SLE_ROCF}, {"cltu", SLE_FCLTU}};

static bool read_mode(enum sle_service service, const char *value, size_t len, enum sle_mode *mode)
{
    static const char *const texts[] = {"onlt", "onlc", "offl"};
    *mode = SLE_FORWARD;
    if (service == SLE_FCLTU)
        return len > 4 && strncmp(value, "cltu", 4) == 0;
    for (unsigned i = 0; i < 3; i++)
        if (len > 4 && strncmp(value, texts[i], 4) == 0) {
            *mode = (enum sle_mode)i;
            return true;
        }
    return false;
}

int sle_siid_parse(const char *text, struct sle_siid *out, enum sle_service *service,
                   enum sle_mode *mode)
{
    const char *value, *p = text;
    size_t len;
    if (strlen(text) > SLE_SIID_MAX ||
        (p = read_attribute(p, "sagr", false, &value, &len)) == NULL ||
        (p = read_attribute(p, "spack", false, &value, &len)) == NULL)
        return HELIO_EFORMAT;
    bool forward = *p == 'f';
    if ((p = read_attribute(p, forward ? "fsl-fg" : "rsl-fg", false, &value, &len)) == NULL)
        return HELIO_EFORMAT;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        enum sle_mode m;
        if (read_attribute(p, kinds[i].name, true, &value, &len) == NULL)
            continue;
        if (forward != (kinds[i].service == SLE_FCLTU) ||
            !read_mode(kinds[i].service, value, len, &m))
            return HELIO_EFORMAT;
        snprintf(out->text, sizeof out->text, "%s", text);
        if (service != NULL)
            *service = kinds[i].service;
        if (mode != NULL)
            *mode = m;
        return HELIO_OK;
    }
    return HELIO_EFORMAT;
}
