// SPDX-License-Identifier: Apache-2.0

//go:build peers

// Names the program that dtn7.sh builds, so that go.sum has all it needs.
package peers

import _ "github.com/dtn7/dtn7-go/cmd/dtnd"
