/* SPDX-License-Identifier: Apache-2.0 */
/* Contact plans in files: plan_text.h says what holds. */
#include "tests/fuzz/plan_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    return plan_fuzz(data, len, PLAN_ION, plan_ion_read);
}
