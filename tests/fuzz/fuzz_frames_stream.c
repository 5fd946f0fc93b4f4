/* SPDX-License-Identifier: Apache-2.0 */
/* Frames out of any octets: the first one chooses the mode and into which pieces the rest is cut.
 * Every octet is in a frame, or skipped, or left. */
#include <assert.h>

#include "frames/frame_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { LENGTH = 40, ROOM = 160, MODES = FRAME_STREAM_OCTETS + 1 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static uint8_t buffer[ROOM];
    struct frame_stream s;
    struct slice frame;
    uint64_t fed = 0, taken = 0;
    if (len == 0)
        return 0;
    enum frame_stream_mode mode = (enum frame_stream_mode)(data[0] % MODES);
    size_t step = 1 + data[0] / MODES;
    assert(2 * frame_stream_unit(mode, LENGTH) <= ROOM);
    frame_stream_init(&s, mode, LENGTH, buffer, ROOM);
    for (data++, len--; len > 0;) {
        size_t room;
        uint8_t *to = frame_stream_space(&s, &room);
        size_t n = step < room ? step : room;
        n = n < len ? n : len;
        memcpy(to, data, n);
        frame_stream_fed(&s, n);
        data += n;
        len -= n;
        fed += n;
        while (frame_stream_next(&s, &frame)) {
            assert(frame.len > 0 && frame.data >= buffer &&
                   frame.data + frame.len <= buffer + ROOM);
            assert(mode == FRAME_STREAM_CLTU || frame.len <= LENGTH);
            taken += frame.len + (mode == FRAME_STREAM_MARKED ? (size_t)FRAME_ASM_LEN : 0);
        }
        assert(!frame_stream_ready(&s));
        assert(mode != FRAME_STREAM_OCTETS || taken == fed);
        assert(taken + s.skipped + (s.have - s.at) == fed);
    }
    return 0;
}
