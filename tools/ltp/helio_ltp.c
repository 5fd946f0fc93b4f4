/* SPDX-License-Identifier: Apache-2.0 */
/* helio-ltp: sends or receives files as LTP blocks (docs/helio-ltp.md). What can go wrong: a wrong
 * line (2); an address, a file, a cancelled block or the time running out (1). */
#include "os/process/process.h"
#include "tools/ltp/ltp_tool.h"

int main(int argc, char **argv)
{
    file_limit_report();
    struct ltp_tool_options o;
    ltp_tool_options_read(&o, argc, argv);
    return o.receive ? ltp_tool_receive(&o) : ltp_tool_send(&o);
}
