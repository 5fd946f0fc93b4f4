/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One function per kind of option reads its text into the specification, and the option joins the
 * list of parameters. What can go wrong: an option without sense, two models in one specification,
 * one that is not whole; each has its message.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "channel-emu/chan/fading/chan_air.h"
#include "channel-emu/chan/fading/chan_gen.h"
#include "channel-emu/chan/fading/chan_zernike.h"

void gen_spec_init(struct gen_spec *s)
{
    *s = (struct gen_spec){.fade = {.coherence = 5 * TICK_MS,
                                    .jitter_coherence = 20 * TICK_MS,
                                    .wavelength_nm = 1550,
                                    .altitude_km = 550,
                                    .profile = air_hv57,
                                    .orbit = true,
                                    .residual = 1},
                           .receiver = {.margin_db = 3}};
}

/* A number with that unit behind it. */
static bool parse_quantity(const char *text, const char *unit, double min, double max, double *out)
{
    double v;
    size_t len = strlen(text), n = strlen(unit);
    if (len <= n || strcmp(text + len - n, unit) != 0 || law_number(text, len - n, &v) < 0 ||
        v < min || v > max)
        return false;
    *out = v;
    return true;
}

static bool parse_duration(const char *text, tick *out)
{
    tick v;
    if (units_duration(text, &v) < 0 || v > 86400 * TICK_S)
        return false;
    *out = v;
    return true;
}

/* Splits at commas into at most `max` copies. 0: too many, or too long. */
#define PART_MAX 32u
static size_t split_parts(const char *text, char parts[][PART_MAX], size_t max)
{
    for (size_t n = 0; n < max;) {
        size_t len = strcspn(text, ",");
        if (len >= PART_MAX)
            return 0;
        memcpy(parts[n], text, len);
        parts[n++][len] = '\0';
        if (text[len] == '\0')
            return n;
        text += len + 1;
    }
    return 0;
}

static bool set_gilbert(struct gen_spec *s, const char *text)
{
    char parts[4][PART_MAX];
    tick good, bad;
    size_t n = split_parts(text, parts, 4);
    s->good_loss = 0;
    s->bad_loss = 1;
    if ((n != 2 && n != 4) || !parse_duration(parts[0], &good) || !parse_duration(parts[1], &bad) ||
        good == 0 || bad == 0)
        return false;
    s->good_ms = (double)good / 1e6;
    s->bad_ms = (double)bad / 1e6;
    return n == 2 || (parse_quantity(parts[2], "", 0, 1, &s->good_loss) &&
                      parse_quantity(parts[3], "", 0, 1, &s->bad_loss));
}

static bool parse_point(const char *text, struct fade_point *out)
{
    char time[PART_MAX];
    size_t len = strcspn(text, ":");
    if (text[len] != ':')
        return false;
    memcpy(time, text, len);
    time[len] = '\0';
    return parse_duration(time, &out->at) &&
           parse_quantity(text + len + 1, "", 5, 90, &out->elevation);
}

static bool set_elevation(struct gen_spec *s, const char *text)
{
    char parts[FADE_POINTS_MAX][PART_MAX];
    struct fade_config f = s->fade; /* what is refused changes nothing */
    f.points = 1;
    f.pass[0].at = 0;
    if (!parse_quantity(text, "", 5, 90, &f.pass[0].elevation)) {
        f.points = split_parts(text, parts, FADE_POINTS_MAX);
        for (size_t i = 0; i < f.points; i++) {
            if (!parse_point(parts[i], &f.pass[i]) || (i > 0 && f.pass[i].at <= f.pass[i - 1].at))
                return false;
        }
    }
    if (f.points > 0)
        s->fade = f;
    return f.points > 0;
}

/* A number of the size of C_n^2, such as 1.7e-14. */
static bool parse_cn2(const char *text, double *out)
{
    size_t len = strcspn(text, "e");
    double v;
    uint64_t exponent;
    if (law_number(text, len, &v) < 0 || strncmp(text + len, "e-", 2) != 0 ||
        units_count(text + len + 2, 30, &exponent) < 0)
        return false;
    for (; exponent > 0; exponent--)
        v /= 10;
    *out = v;
    return v > 1e-25 && v < 1e-8;
}

static bool parse_layer(const char *text, double *height, double *cn2)
{
    char first[PART_MAX];
    size_t len = strcspn(text, ":");
    memcpy(first, text, len);
    first[len] = '\0';
    return text[len] == ':' && parse_quantity(first, "m", 0, 30000, height) &&
           parse_cn2(text + len + 1, cn2);
}

/* hv:WIND,GROUND or HEIGHT:C,HEIGHT:C,... */
static bool set_profile(struct gen_spec *s, const char *text)
{
    char parts[AIR_POINTS_MAX][PART_MAX];
    struct air_profile p = {0};
    bool ok = true;
    if (air_named(text, &p)) {
        s->fade.profile = p;
        return true;
    }
    if (strncmp(text, "hv:", 3) == 0) {
        ok = split_parts(text + 3, parts, 2) == 2 &&
             parse_quantity(parts[0], "m/s", 0, 100, &p.wind) && parse_cn2(parts[1], &p.ground);
    } else {
        p.points = split_parts(text, parts, AIR_POINTS_MAX);
        ok = p.points >= 2;
        for (size_t i = 0; ok && i < p.points; i++)
            ok = parse_layer(parts[i], &p.height[i], &p.cn2[i]) &&
                 (i == 0 || p.height[i] > p.height[i - 1]);
    }
    ok = ok && (p.points == 0 || p.height[p.points - 1] >= 1000);
    if (ok)
        s->fade.profile = p;
    return ok;
}

static bool set_scintillation(struct gen_spec *s, const char *text)
{
    s->fade.kind = strcmp(text, "lognormal") == 0     ? FADE_LOGNORMAL
                   : strcmp(text, "gamma-gamma") == 0 ? FADE_GAMMA_GAMMA
                                                      : FADE_STEADY;
    return s->fade.kind != FADE_STEADY;
}

static bool set_good(struct gen_spec *s, const char *text)
{
    return law_mix_parse(text, &s->good) == 0;
}

static bool set_bad(struct gen_spec *s, const char *text)
{
    return law_mix_parse(text, &s->bad) == 0;
}

static bool set_independent(struct gen_spec *s, const char *text)
{
    return parse_quantity(text, "", 0, 1, &s->bad_loss);
}

static bool set_index(struct gen_spec *s, const char *text)
{
    return parse_quantity(text, "", 0.0005, AIR_INDEX_MAX, &s->fade.index);
}

static bool set_coherence(struct gen_spec *s, const char *text)
{
    s->fade.wind = false;
    return parse_duration(text, &s->fade.coherence);
}

static bool set_wind(struct gen_spec *s, const char *text)
{
    s->fade.wind = true;
    return parse_quantity(text, "m/s", 0, 100, &s->fade.wind_m_s);
}

static bool set_slew(struct gen_spec *s, const char *text)
{
    s->fade.orbit = strcmp(text, "orbit") == 0;
    if (s->fade.orbit)
        return true;
    bool ok = parse_quantity(text, "deg/s", 0, 10, &s->fade.slew);
    s->fade.slew *= 0.01745329251994329577;
    return ok;
}

static bool set_spectrum(struct gen_spec *s, const char *text)
{
    s->fade.spectrum = strcmp(text, "point") == 0      ? FADE_POINT
                       : strcmp(text, "aperture") == 0 ? FADE_APERTURE
                                                       : FADE_STEEP;
    return s->fade.spectrum != FADE_STEEP || strcmp(text, "steep") == 0;
}

static bool set_inner(struct gen_spec *s, const char *text)
{
    return parse_duration(text, &s->fade.inner) && s->fade.inner > 0;
}

static bool set_scales(struct gen_spec *s, const char *text)
{
    s->fade.two_scales = strcmp(text, "two") == 0;
    return s->fade.two_scales || strcmp(text, "one") == 0;
}

static bool set_bias(struct gen_spec *s, const char *text)
{
    return parse_quantity(text, "", 0, 5, &s->fade.bias);
}

static bool set_uplink(struct gen_spec *s, const char *text)
{
    return parse_quantity(text, "m", 0.001, 5, &s->fade.uplink_m);
}

static bool set_residual(struct gen_spec *s, const char *text)
{
    return parse_quantity(text, "", 0, 1, &s->fade.residual);
}

static bool set_extinction(struct gen_spec *s, const char *text)
{
    return parse_quantity(text, "dB", 0, 60, &s->fade.extinction);
}

/* SHARE,DURATION */
static bool set_cloud(struct gen_spec *s, const char *text)
{
    char parts[2][PART_MAX];
    return split_parts(text, parts, 2) == 2 &&
           parse_quantity(parts[0], "", 0, 0.99, &s->fade.cloud) &&
           parse_duration(parts[1], &s->fade.cloud_duration) && s->fade.cloud_duration > 0;
}

/* R[,LAG], and a lag may be negative */
static bool set_return(struct gen_spec *s, const char *text)
{
    char parts[2][PART_MAX];
    tick lag = 0;
    size_t n = split_parts(text, parts, 2);
    bool sooner = n == 2 && parts[1][0] == '-';
    s->fade.back = n > 0 && parse_quantity(parts[0], "", 0, 1, &s->fade.back_correlation) &&
                   (n == 1 || parse_duration(parts[1] + sooner, &lag));
    s->fade.back_lag = sooner ? -(int64_t)lag : (int64_t)lag;
    return s->fade.back;
}

static bool set_wavelength(struct gen_spec *s, const char *text)
{
    return parse_quantity(text, "nm", 300, 20000, &s->fade.wavelength_nm);
}

static bool set_aperture(struct gen_spec *s, const char *text)
{
    return parse_quantity(text, "m", 0, 20, &s->fade.aperture_m);
}

static bool set_fried(struct gen_spec *s, const char *text)
{
    return parse_quantity(text, "m", 0.001, 10, &s->fried_m);
}

static bool set_fibre(struct gen_spec *s, const char *text)
{
    uint64_t modes;
    bool ok = units_count(text, ZERNIKE_MODES_MAX, &modes) == 0 && modes > 0;
    if (ok)
        s->fade.fibre = (unsigned)modes;
    return ok;
}

static bool set_altitude(struct gen_spec *s, const char *text)
{
    return parse_quantity(text, "km", 100, 400000, &s->fade.altitude_km);
}

static bool set_jitter(struct gen_spec *s, const char *text)
{
    return parse_quantity(text, "", 0, 5, &s->fade.jitter);
}

static bool set_jitter_coherence(struct gen_spec *s, const char *text)
{
    return parse_duration(text, &s->fade.jitter_coherence);
}

static bool set_margin(struct gen_spec *s, const char *text)
{
    return parse_quantity(text, "dB", 0, 60, &s->receiver.margin_db);
}

static bool set_fec(struct gen_spec *s, const char *text)
{
    return parse_quantity(text, "dB", 0, 30, &s->receiver.fec_db);
}

static bool set_interleaver(struct gen_spec *s, const char *text)
{
    s->receiver.block = 0; /* the later of the two counts */
    return parse_duration(text, &s->receiver.interleaver);
}

/* DURATION,SHARE */
static bool set_block(struct gen_spec *s, const char *text)
{
    char parts[2][PART_MAX];
    s->receiver.interleaver = 0;
    return split_parts(text, parts, 2) == 2 && parse_duration(parts[0], &s->receiver.block) &&
           s->receiver.block > 0 && parse_quantity(parts[1], "", 0, 1, &s->receiver.correct);
}

static bool set_reacquire(struct gen_spec *s, const char *text)
{
    return parse_duration(text, &s->receiver.reacquire);
}

static const struct option {
    const char *name;
    enum gen_model model;
    bool (*set)(struct gen_spec *s, const char *text);
    const char *right;
} options[] = {
    {"good", GEN_RENEWAL, set_good, LAW_HINT},
    {"bad", GEN_RENEWAL, set_bad, LAW_HINT},
    {"gilbert", GEN_GILBERT, set_gilbert,
     "GOOD,BAD or GOOD,BAD,LOSS_GOOD,LOSS_BAD, such as 18ms,1ms or 18ms,1ms,0.001,0.9"},
    {"independent", GEN_INDEPENDENT, set_independent, "a number from 0 to 1, such as 0.05"},
    {"scintillation", GEN_OPTICAL, set_scintillation, "lognormal or gamma-gamma"},
    {"index", GEN_OPTICAL, set_index, "a scintillation index from 0.0005 to 1.2, such as 0.3"},
    {"coherence", GEN_OPTICAL, set_coherence, "a duration, such as 5ms"},
    {"elevation", GEN_OPTICAL, set_elevation,
     "degrees from 5 to 90, or a pass such as 0s:10,50s:14.5,100s:17 with rising times"},
    {"profile", GEN_OPTICAL, set_profile,
     "hv57, slc-day, slc-night, hv:21m/s,1.7e-14, or rising heights, the last one 1000m to "
     "30000m, with C_n^2: 0m:1e-14,2000m:3e-17"},
    {"fried", GEN_OPTICAL, set_fried, "Fried's parameter from 0.001m to 10m, such as 0.1m"},
    {"wavelength", GEN_OPTICAL, set_wavelength, "a length from 300nm to 20000nm, such as 1550nm"},
    {"aperture", GEN_OPTICAL, set_aperture, "a diameter from 0m to 20m, such as 0.4m"},
    {"fibre", GEN_OPTICAL, set_fibre, "a number of Zernike modes from 1 to 1000, such as 3"},
    {"altitude", GEN_OPTICAL, set_altitude, "a height from 100km to 400000km, such as 550km"},
    {"jitter", GEN_OPTICAL, set_jitter, "a number from 0 to 5, such as 0.3"},
    {"jitter-coherence", GEN_OPTICAL, set_jitter_coherence, "a duration, such as 20ms"},
    {"wind", GEN_OPTICAL, set_wind, "a wind near the ground from 0m/s to 100m/s, such as 5m/s"},
    {"slew", GEN_OPTICAL, set_slew, "orbit, or a speed from 0deg/s to 10deg/s, such as 0.5deg/s"},
    {"spectrum", GEN_OPTICAL, set_spectrum, "point, aperture or steep"},
    {"inner", GEN_OPTICAL, set_inner, "a duration, such as 0.5ms: inner scale / wind"},
    {"scales", GEN_OPTICAL, set_scales, "one or two"},
    {"bias", GEN_OPTICAL, set_bias, "a number from 0 to 5, such as 0.3"},
    {"uplink", GEN_OPTICAL, set_uplink,
     "the beam's radius at 1/e^2 from 0.001m to 5m, such as 0.05m"},
    {"residual", GEN_OPTICAL, set_residual, "a number from 0 to 1, such as 0.3"},
    {"extinction", GEN_OPTICAL, set_extinction, "a value from 0dB to 60dB, such as 3dB"},
    {"cloud", GEN_OPTICAL, set_cloud, "SHARE,DURATION, such as 0.2,30s, with a share up to 0.99"},
    {"return", GEN_OPTICAL, set_return,
     "R[,LAG], such as 0.9,2ms or 0.9,-120ms, with a correlation from 0 to 1"},
    {"margin", GEN_OPTICAL, set_margin, "a value from 0dB to 60dB, such as 3dB"},
    {"fec", GEN_OPTICAL, set_fec, "a gain from 0dB to 30dB, such as 2dB"},
    {"interleaver", GEN_OPTICAL, set_interleaver, "a duration, such as 10ms"},
    {"block", GEN_OPTICAL, set_block,
     "DURATION,SHARE, such as 10ms,0.125, with the share of its symbols that a code corrects"},
    {"reacquire", GEN_OPTICAL, set_reacquire, "a duration, such as 1ms"},
};

static int note_option(struct gen_spec *s, const char *name, const char *text, char *error)
{
    size_t at = strlen(s->parameters), room = sizeof s->parameters - at;
    int n = snprintf(s->parameters + at, room, "%s--%s %s", at > 0 ? " " : "", name, text);
    if ((size_t)n < room)
        return 0;
    snprintf(error, GEN_ERROR_MAX, "the options are longer than %u characters in all",
             TRACE_PARAMETERS_MAX - 1);
    return HELIO_EFORMAT;
}

static int set_one(struct gen_spec *s, const struct option *o, const char *text, char *error)
{
    if (s->model != GEN_NONE && s->model != o->model) {
        snprintf(error, GEN_ERROR_MAX, "is for the model '%s', but the options before for '%s'",
                 gen_model_name(o->model), gen_model_name(s->model));
        return HELIO_EFORMAT;
    }
    s->model = o->model;
    if (o->set(s, text))
        return 0;
    snprintf(error, GEN_ERROR_MAX, "\"%.60s\" is not understood; write %s", text, o->right);
    return HELIO_EFORMAT;
}

static const struct option *find_option(const char *name)
{
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (strcmp(options[i].name, name) == 0)
            return &options[i];
    }
    return NULL;
}

static int set_preset(struct gen_spec *s, const char *text, char *error)
{
    const struct gen_preset *p = gen_preset_find(text);
    if (p == NULL || s->model != GEN_NONE) {
        snprintf(error, GEN_ERROR_MAX,
                 p == NULL ? "\"%.60s\" is not known; write one of: " GEN_PRESET_NAMES
                           : "\"%.60s\" must stand before the options that change it",
                 text);
        return HELIO_EFORMAT;
    }
    int rc = 0;
    for (int i = 0; rc == 0 && i < GEN_PRESET_OPTIONS_MAX && p->options[i][0] != NULL; i++)
        rc = set_one(s, find_option(p->options[i][0]), p->options[i][1], error);
    s->preset_aperture_m = s->fade.aperture_m;
    return rc;
}

/* An explicit index is that after aperture averaging, so the aperture of a preset is dropped; with
 * a wind it still affects the coherence time. */
static void settle_aperture(struct gen_spec *s, const char *name)
{
    if (strcmp(name, "aperture") == 0)
        s->preset_aperture_m = 0;
    else if (s->preset_aperture_m > 0 && s->fade.index > 0)
        s->fade.aperture_m = s->fade.wind ? s->preset_aperture_m : 0;
}

int gen_spec_set(struct gen_spec *s, const char *name, const char *text, char *error)
{
    const struct option *o = find_option(name);
    if (o == NULL && strcmp(name, "preset") != 0)
        return HELIO_ENOENT;
    int rc = o == NULL ? set_preset(s, text, error) : set_one(s, o, text, error);
    if (rc == 0 && o != NULL)
        settle_aperture(s, name);
    if (rc == 0)
        air_scale(&s->fade.profile, s->fade.wavelength_nm, s->fried_m);
    return rc == 0 ? note_option(s, name, text, error) : rc;
}

/* An option that would change nothing was meant to: NULL, or what it lacks. */
static const char *idle_option(const struct fade_config *f)
{
    if (f->kind == FADE_STEADY && (f->wind || f->spectrum != FADE_STEEP || f->index > 0))
        return "--index, --wind and --spectrum are of the --scintillation, which is missing";
    if (f->back && f->back_correlation > 0 && f->kind == FADE_STEADY)
        return "--return above 0 needs a --scintillation: pointing is each terminal's own";
    if (f->two_scales && f->kind != FADE_GAMMA_GAMMA)
        return "--scales two needs --scintillation gamma-gamma: another law has one scale";
    if (f->inner > 0 && f->spectrum != FADE_POINT)
        return "--inner bounds --spectrum point: the others need no bound";
    if (!f->orbit && !f->wind)
        return "--slew needs a --wind: it changes nothing else";
    if (f->residual < 1 && f->uplink_m <= 0)
        return "--residual needs an --uplink: it changes nothing else";
    if (f->aperture_m > 0 && f->points == 0)
        return "--aperture needs an --elevation: a given --index is that behind the aperture";
    if (f->aperture_m > 0 && f->uplink_m > 0)
        return "--aperture is of a telescope on the ground; with --uplink no aperture averages";
    if (f->fibre > 0 && (f->aperture_m <= 0 || f->uplink_m > 0))
        return "--fibre needs the --aperture of a telescope on the ground before it";
    if (f->aperture_m > 0 && f->fibre == 0 &&
        (f->kind == FADE_STEADY || (f->index > 0 && !f->wind)))
        return "--aperture changes nothing without --scintillation, nor beside an --index without "
               "a --wind";
    return NULL;
}

static const char *optical_fault(const struct gen_spec *s, tick step)
{
    const struct fade_config *f = &s->fade;
    const char *idle = idle_option(f);
    if (s->fried_m > 0 && f->points == 0)
        return "--fried needs an --elevation: it is in the zenith";
    if (f->points == 0 && (f->wind || f->uplink_m > 0 || f->extinction > 0 || f->cloud > 0))
        return "--wind, --uplink, --extinction and --cloud need an --elevation";
    if (f->cloud > 0 && f->cloud_duration < step)
        return "--cloud: a cloud is shorter than a step";
    if (f->cloud > 0 && !fade_clouds_clear(f, step))
        return "--cloud: at the lowest elevation clear times are shorter than a step; write "
               "longer clouds, less of them, or a shorter --step";
    if (f->kind == FADE_STEADY && f->jitter <= 0 && f->points < 2 && f->uplink_m <= 0 &&
        f->cloud <= 0)
        return "--scintillation, --jitter or a pass of --elevation is missing: nothing would "
               "change";
    if (idle != NULL)
        return idle;
    if (f->kind != FADE_STEADY && f->index <= 0 && f->points == 0)
        return "--scintillation needs an --index or an --elevation";
    if (f->spectrum == FADE_POINT && f->inner == 0)
        return "--spectrum point needs an --inner: without an inner scale fades have no rate of "
               "their own, it would be that of the --step";
    if (receiver_fault(&s->receiver, step) != NULL)
        return receiver_fault(&s->receiver, step);
    if (fade_check(f, step) == 0)
        return NULL;
    return f->inner > 0 ? "--inner must have 5 steps, and half a coherence time at most, of 2 to "
                          "10,000,000 steps; write a shorter --step, or another one"
           : f->wind    ? "--wind: the coherence time has less than 2 steps; write a shorter --step"
                        : "--coherence and --jitter-coherence must have 2 to 10,000,000 steps";
}

int gen_spec_check(const struct gen_spec *s, tick step, char *error)
{
    const char *fault = NULL;
    double step_ms = (double)step / 1e6;
    switch (s->model) {
    case GEN_NONE:
        fault =
            "the model is missing; write --preset, --good with --bad, --gilbert, --independent, or "
            "--scintillation and its like";
        break;
    case GEN_RENEWAL:
        fault = s->good.len == 0  ? "--good is missing"
                : s->bad.len == 0 ? "--bad is missing"
                                  : NULL;
        break;
    case GEN_GILBERT:
        if (s->good_ms < step_ms || s->bad_ms < step_ms)
            fault = "--gilbert: a mean time is shorter than a step";
        break;
    case GEN_INDEPENDENT:
        break;
    case GEN_OPTICAL:
        fault = optical_fault(s, step);
        break;
    }
    if (fault == NULL)
        return 0;
    snprintf(error, GEN_ERROR_MAX, "%s", fault);
    return HELIO_EFORMAT;
}
