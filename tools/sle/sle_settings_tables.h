/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a provider's configuration, by section. */
#ifndef TOOLS_SLE_SETTINGS_TABLES_H
#define TOOLS_SLE_SETTINGS_TABLES_H

#include "tools/sle/sle_settings.h"

extern const struct conf_option settings_top[], settings_tml[], settings_http[], settings_users[],
    settings_sources[], settings_instances[], settings_events[];

#endif
