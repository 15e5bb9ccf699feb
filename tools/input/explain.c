// SPDX-License-Identifier: GPL-2.0
/*
 * explain.c - identifies files that cannot be read here, by their first bytes
 */
#include <string.h>
#include "input/explain.h"
#include "util.h"

const char *explain_file(int fd)
{
	static const struct {
		const char *magic, *text;
		size_t len;
	} known[] = {
#define KNOWN(magic, text) { magic, text, sizeof(magic) - 1 }
#define SAVED "is a saved virtual machine: virsh dump --memory-only writes a dump"
		KNOWN("\x1f\x8b\x08", "is compressed by gzip: unpack it first"),
		KNOWN("\xfd\x37zXZ", "is compressed by xz: unpack it first"),
		KNOWN("\x28\xb5\x2f\xfd", "is compressed by zstd: unpack it first"),
		KNOWN("\x04\x22\x4d\x18", "is compressed by lz4: unpack it first"),
		KNOWN("BZh", "is compressed by bzip2: unpack it first"),
		KNOWN("PK\x03\x04", "is a zip archive: unpack it first"),
		KNOWN("7z\xbc\xaf\x27\x1c", "is a 7z archive: unpack it first"),
		KNOWN("QFI\xfb", "is not a dump: a qcow2 disk image"),
		KNOWN("AVML", "is compressed by AVML: avml-convert FILE OUTPUT unpacks it"),
		KNOWN("QEVM", SAVED),
		KNOWN("LibvirtQemud", SAVED),
		KNOWN("LUKS\xba\xbe", "is encrypted (LUKS): decrypt it first"),
		KNOWN("Salted__", "is encrypted (openssl): decrypt it first"),
		KNOWN("-----BEGIN PGP", "is encrypted (PGP): decrypt it first"),
		KNOWN("age-encryption.org", "is encrypted (age): decrypt it first"),
		KNOWN("\xff\xfe", "is UTF-16 text: convert it first, by iconv -f UTF-16"),
		KNOWN("\xfe\xff", "is UTF-16 text: convert it first, by iconv -f UTF-16"),
#undef SAVED
#undef KNOWN
	};
	char head[32] = "";
	size_t i;

	read_at(fd, head, sizeof(head), 0);
	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (!memcmp(head, known[i].magic, known[i].len))
			return known[i].text;
	return NULL;
}
