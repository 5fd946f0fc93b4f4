// SPDX-License-Identifier: Apache-2.0
// Lists a contact plan as HDTN's routing library reads it: number, from, to, start, end, bit/s, light time. Built outside the project,
// in HDTN's folder, with Boost 1.74 (log, filesystem, thread, regex); its export headers are made by CMake and are empty here:
//   mkdir gen && for l in LOG_LIB HDTN_UTIL CGR_LIB; do echo "#define ${l}_EXPORT" >gen/$(echo $l | tr A-Z a-z)_export.h; done
//   g++ -std=c++17 -O1 -DBOOST_ALL_DYN_LINK -DLOG_LEVEL=6 -Igen -Icommon/cgr/include -Icommon/util/include -Icommon/logger/include
//       hdtn_plans.cpp common/cgr/src/libcgr.cpp common/util/src/{JsonSerializable,Utf8Paths}.cpp common/logger/src/Logger.cpp
//       -o hdtn_plans -lboost_log -lboost_filesystem -lboost_thread -lboost_system -lboost_regex -lpthread
#include <cinttypes>
#include <cstdio>
#include "libcgr.h"
int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    for (const cgr::Contact &c : cgr::cp_load(boost::filesystem::path(argv[1]), SIZE_MAX))
        std::printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %lld %lld %" PRIu64 " %lld\n", (uint64_t)c.id, (uint64_t)c.frm, (uint64_t)c.to,
                    (long long)c.start, (long long)c.end, (uint64_t)c.rate, (long long)c.owlt);
}
