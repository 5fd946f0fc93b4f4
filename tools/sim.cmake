# SPDX-License-Identifier: Apache-2.0
# Virtual time: LTP engines and channels under a clock of their own.
helio_library(helio_simlib SOURCES sim_world.c sim_stats.c sim_run.c LIBS helio_ltp helio_chan helio_ltprules m)
# The whole stack: functions of the daemon's and helio-perf's outer files are defined here, so that
# these are not taken from their libraries.
set(stack stack.c stack_app.c stack_channel.c stack_host.c stack_main.c stack_net.c stack_perf.c stack_report.c
          stack_script.c)
helio_program(helio-sim SOURCES helio_sim.c sim_recovery.c sim_report.c ${stack}
              LIBS helio_simlib helio_node helio_tools helio_relay_options helio_scenario PkgConfig::JANSSON)
