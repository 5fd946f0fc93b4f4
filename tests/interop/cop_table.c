/* SPDX-License-Identifier: Apache-2.0 */
/* Prints FOP-1's state table: event, state, next state; and FARM-1's events and states for what a
 * frame's number is ahead of V(R), window 20. For cop_test.py. */
#include <stdio.h>

#include "frames/farm.h"
#include "frames/fop.h"

static void print_fop(void)
{
#define EVENT_NUMBER(n) n
    static const int numbers[] = {FOP_EVENT_NUMBERS(EVENT_NUMBER)};
#undef EVENT_NUMBER
    for (int e = 0; e < FOP_EVENTS; e++)
        for (int s = 0; s < FOP_STATES; s++) {
            enum fop_state next = fop_next((enum fop_state)s, (enum fop_event)e);
            if (next != FOP_STATES)
                printf("fop %d %d %d\n", numbers[e], s + 1, next + 1);
        }
}

static void print_farm(void)
{
    for (unsigned ahead = 0; ahead < 256; ahead++) {
        struct farm f;
        struct frame frame = {.kind = FRAME_TC};
        uint8_t v_r;
        farm_init(&f, 20);
        f.v_r = 200;
        frame.count = (200 + ahead) & 255;
        printf("farm %u %d", ahead, farm_classify(&f, &frame, true, &v_r) + 1);
        enum farm_verdict v = farm_input(&f, &frame, true);
        printf(" %d %d %d %u\n", v, f.state, f.retransmit, f.v_r);
    }
}

int main(void)
{
    print_fop();
    print_farm();
    return 0;
}
