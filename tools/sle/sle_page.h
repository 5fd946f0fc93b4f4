/* SPDX-License-Identifier: Apache-2.0 */
/* The status page of a provider (sle_page.html), as it is sent. */
#ifndef TOOLS_SLE_PAGE_H
#define TOOLS_SLE_PAGE_H

#include <stddef.h>

extern const unsigned char sle_page[];
extern const size_t sle_page_len;

#endif
