# SPDX-License-Identifier: Apache-2.0
# The programs for users of a node: helio-perf, helio-analyze.
target_sources(helio_tools PRIVATE aap2_client.c aap2_endpoint.c
    perf_wire.c perf_window.c perf_options.c perf_source.c perf_link.c perf_os.c perf_run.c perf_report.c
    perf_client.c perf_result.c perf_file.c perf_session.c perf_server.c perf_server_result.c
    seglog_row.c drop_row.c stream.c input.c capture.c pcap_input.c packet.c reassembly.c
    ltp_watch.c watch_session.c
    analyze.c analyze_checkpoint.c analyze_count.c analyze_flow.c analyze_series.c analyze_model.c analyze_table.c
    analyze_result.c analyze_choose.c analyze_extract.c)
target_link_libraries(helio_tools PUBLIC helio_ltp PkgConfig::JANSSON PkgConfig::ZLIB PkgConfig::PCAP)

helio_program(helio-perf SOURCES helio_perf.c LIBS helio_tools)
helio_program(helio-analyze SOURCES helio_analyze.c analyze_options.c analyze_page.c LIBS helio_tools helio_trace)
helio_program(helio-ltp SOURCES helio_ltp.c ltp_tool_options.c ltp_tool_port.c ltp_tool_send.c ltp_tool_receive.c
              LIBS helio_cla helio_ltp PkgConfig::JANSSON)
