/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte chooses what is expected and the size of the pieces; the rest is the stream. What
 * is read must not depend on the pieces. As one message without its length it must be read as
 * protobuf-c reads it. */
#include <stdlib.h>
#include <string.h>

#include "node/aap2/aap2_wire.h"
#include "tests/unit/aap2_oracle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
    int rc;
    uint64_t messages, payload_bytes;
};

static struct outcome read_all(const uint8_t *data, size_t size, bool responses, size_t piece)
{
    struct aap2_reader r;
    struct outcome o = {0};
    Aap2__AAPMessage *m;
    Aap2__AAPResponse *a;
    struct buf *b;
    aap2_reader_init(&r, responses, 64, 8, 1 << 20);
    while (size > 0 && o.rc == 0) {
        size_t room;
        uint8_t *p = aap2_reader_space(&r, &room);
        size_t n = size < piece ? size : piece;
        n = n < room ? n : room;
        memcpy(p, data, n);
        data += n;
        size -= n;
        while ((o.rc = aap2_reader_fed(&r, n, &m, &a, &b)) == 1) {
            n = 0;
            o.messages++;
            o.payload_bytes += b != NULL ? b->len : 0;
            buf_drop(b);
            if (m != NULL)
                aap2_message_free(m);
            if (a != NULL)
                aap2_response_free(a);
        }
    }
    aap2_reader_fini(&r);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    bool responses = (data[0] & 1) != 0;
    size_t piece = 1 + (data[0] >> 1);
    if (responses)
        oracle_response(data + 1, size - 1);
    else
        oracle_message(data + 1, size - 1);
    struct outcome whole = read_all(data + 1, size - 1, responses, size);
    struct outcome cut = read_all(data + 1, size - 1, responses, piece);
    if (whole.rc != cut.rc || whole.messages != cut.messages ||
        whole.payload_bytes != cut.payload_bytes)
        abort();
    return 0;
}
