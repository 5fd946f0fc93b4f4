# SPDX-License-Identifier: Apache-2.0
"""Labs: nodes, links and traffic that one file describes, run in virtual time, as processes or in namespaces."""
