// SPDX-License-Identifier: Apache-2.0
// The bundle library from C++: an endpoint and a bundle agent.
#include <heliograph/bp/agent/agent.h>

int main()
{
    struct eid e;
    return eid_parse("ipn:2.7", &e) == 0 && e.node == 2 ? 0 : 1;
}
