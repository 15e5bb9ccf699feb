// SPDX-License-Identifier: GPL-2.0
// What the search fields of flame graphs and reports take
"use strict";
function to_regex(text) {
	// As grep users expect: capitals count if there are any
	var flags = /[A-Z]/.test(text) ? "" : "i";

	try {
		return new RegExp(text, flags);
	} catch (e) {
		return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), flags);
	}
}

