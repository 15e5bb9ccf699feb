// SPDX-License-Identifier: GPL-2.0
// What flame graphs and reports have in common: search, the address, keys
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

// Keep what is shown in the address, so that it can be saved and sent
function keep_address(hash) {
	try {
		history.replaceState(null, "", hash.length ? "#" + hash.join("&") : location.pathname);
	} catch (e) {
		// Not everywhere allowed, and not needed
	}
}

// Ctrl-F goes to the search field
function on_keys(field, escape) {
	window.addEventListener("keydown", function (e) {
		if ((e.ctrlKey || e.metaKey) && e.key === "f" && document.activeElement !== field) {
			e.preventDefault();
			field.focus();
			field.select();
		} else if (e.key === "Escape") {
			escape();
		}
	});
}

