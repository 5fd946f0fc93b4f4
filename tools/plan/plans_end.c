/* SPDX-License-Identifier: Apache-2.0 */
/* What both ends of the plan service do: the folder, the log, the file that shows their state. What
 * can go wrong: the folder, the medium (the state file is then written later). */
#include <stdlib.h>

#include "base/err.h"
#include "conf/json_number.h"
#include "node/plan/plan_draft.h"
#include "tools/plan/plans_service.h"

int plans_end_init(struct plans_end *e, struct world *w, const struct plans_options *o,
                   void (*fire)(void *context), void *self, void (*over)(void *context),
                   void *context)
{
    char why[256];
    *e = (struct plans_end){.options = o, .world = w, .over = over, .context = context};
    say_init(&e->log, LEVEL_INFO, false, "");
    alarm_init(&e->alarm, w, ALARM_APP, fire, self);
    const int rc = plans_shelf_open(&e->shelf, o->folder, true, why, sizeof why);
    if (rc != 0)
        say(&e->log, LEVEL_ERROR, "%s: %s", o->folder, why);
    return rc;
}

void plans_end_stop(struct plans_end *e)
{
    if (e->stop)
        return;
    e->stop = true;
    alarm_set(&e->alarm, TICK_NEVER);
    plans_node_close(&e->node);
    e->over(e->context);
}

void plans_end_fini(struct plans_end *e)
{
    plans_node_close(&e->node);
    alarm_fini(&e->alarm);
}

void plans_end_show(struct plans_end *e, json_t *j, tick now)
{
    char *text = j == NULL ? NULL : json_dumps(j, JSON_INDENT(1));
    e->show_at = tick_add(now, PLANS_LOOK_EVERY);
    if (text != NULL)
        e->shown =
            plans_shelf_put(&e->shelf, PLANS_STATE_FILE, slice_of(text, strlen(text)), false) == 0;
    free(text);
    json_decref(j);
}

json_t *plans_counts_json(const uint64_t counts[PLANS_VERDICTS])
{
    json_t *j = json_object();
    for (int v = 0; v < PLANS_VERDICTS; v++)
        if (counts[v] > 0)
            json_put_number(j, plans_verdict_text((enum plans_verdict)v), counts[v]);
    return j;
}

json_t *plans_effect_json(const struct plans_version *v)
{
    char text[PLAN_TIME_CAP];
    return json_string(v->effect_ms == 0 ? "at once"
                                         : plan_date_text(plans_wall(v->effect_ms), false, text));
}
