/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the ModCod with most bits per symbol whose threshold the measured Es/N0 reaches, with the
 * margin. A slower one is used at once, a faster one only if the hysteresis is reached, too. If
 * none is reached, the most robust one is used. The choice does not depend on the receiver's
 * synchronisation. Nothing can fail.
 */
#include "channel-emu/chan/chan_acm.h"

#include <assert.h>

#include "channel-emu/chan/chan_math.h"

#define DB_A_NEPER 4.34294481903251828
#define NOTHING_DB (-4000.0) /* without any power */

const struct acm_modcod acm_modcods[ACM_MODCODS] = {
    {"QPSK 1/4", 0.490243, -2.35},    {"QPSK 1/3", 0.656448, -1.24},
    {"QPSK 2/5", 0.789412, -0.30},    {"QPSK 1/2", 0.988858, 1.00},
    {"QPSK 3/5", 1.188304, 2.23},     {"QPSK 2/3", 1.322253, 3.10},
    {"QPSK 3/4", 1.487473, 4.03},     {"QPSK 4/5", 1.587196, 4.68},
    {"QPSK 5/6", 1.654663, 5.18},     {"QPSK 8/9", 1.766451, 6.20},
    {"QPSK 9/10", 1.788612, 6.42},    {"8PSK 3/5", 1.779991, 5.50},
    {"8PSK 2/3", 1.980636, 6.62},     {"8PSK 3/4", 2.228124, 7.91},
    {"8PSK 5/6", 2.478562, 9.35},     {"8PSK 8/9", 2.646012, 10.69},
    {"8PSK 9/10", 2.679207, 10.98},   {"16APSK 2/3", 2.637201, 8.97},
    {"16APSK 3/4", 2.966728, 10.21},  {"16APSK 4/5", 3.165623, 11.03},
    {"16APSK 5/6", 3.300184, 11.61},  {"16APSK 8/9", 3.523143, 12.89},
    {"16APSK 9/10", 3.567342, 13.13}, {"32APSK 3/4", 3.703295, 12.73},
    {"32APSK 4/5", 3.951571, 13.64},  {"32APSK 5/6", 4.119540, 14.28},
    {"32APSK 8/9", 4.397854, 15.69},  {"32APSK 9/10", 4.453027, 16.05},
};

double acm_esn0(const struct acm_config *c, double power)
{
    assert(power >= 0);
    if (power < 1e-300)
        return NOTHING_DB;
    return c->esn0_db + c->slope * DB_A_NEPER * math_log(power);
}

static size_t fastest_below(double esn0_db)
{
    size_t best = 0;
    for (size_t i = 1; i < ACM_MODCODS; i++)
        if (acm_modcods[i].threshold <= esn0_db &&
            acm_modcods[i].efficiency > acm_modcods[best].efficiency)
            best = i;
    return best;
}

static void choose_modcod(struct acm *a)
{
    const struct acm_config *c = a->config;
    size_t when = a->at > c->delay ? a->at - (size_t)c->delay : 0;
    double usable = acm_esn0(c, a->power[when]) - c->margin_db;
    if (!a->begun || acm_modcods[a->modcod].threshold > usable) {
        a->modcod = fastest_below(usable);
        a->begun = true;
        return;
    }
    size_t faster = fastest_below(usable - c->hysteresis_db);
    if (acm_modcods[faster].efficiency > acm_modcods[a->modcod].efficiency)
        a->modcod = faster;
}

void acm_init(struct acm *a, const struct acm_config *c, const double *power, size_t len)
{
    assert(c->every > 0 && len > 0);
    *a = (struct acm){.config = c, .power = power, .len = len};
}

static bool keep_lock(struct acm *a, double esn0)
{
    if (esn0 < a->config->lock_db) {
        a->searching = a->config->reacquire;
        return false;
    }
    if (a->searching == 0)
        return true;
    a->searching--;
    return false;
}

bool acm_next(struct acm *a)
{
    assert(a->at < a->len);
    if (a->at % a->config->every == 0)
        choose_modcod(a);
    double esn0 = acm_esn0(a->config, a->power[a->at++]);
    return !keep_lock(a, esn0) || esn0 < acm_modcods[a->modcod].threshold;
}
