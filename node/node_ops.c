/* SPDX-License-Identifier: Apache-2.0 */
/* The node's applications and store, where nobody models them. */
#include "node/app/apps.h"
#include "node/node.h"
#include "node/storage.h"

const struct node_ops node_ops = {
    .deliver = apps_deliver,
    .recall = apps_recall,
    .answer = apps_answer,
    .flush = apps_flush,
    .put = storage_put,
    .get = storage_get,
    .remove = storage_remove,
    .submit = storage_submit,
};
