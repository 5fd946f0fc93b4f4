# SPDX-License-Identifier: Apache-2.0
# Virtual time: LTP engines and channels under a clock of their own.
helio_library(helio_simlib SOURCES sim_world.c sim_stats.c sim_run.c LIBS helio_ltp helio_chan helio_ltprules m)
helio_program(helio-sim SOURCES helio_sim.c sim_recovery.c sim_report.c
              LIBS helio_simlib helio_scenario PkgConfig::JANSSON)
