// SPDX-License-Identifier: GPL-2.0
/*
 * find_debug.c - the files with debug information of the recorded kernel and its modules
 */
#include <fcntl.h>
#include <fnmatch.h>
#include <fts.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "symbol/symbols.h"
#include "symbol/srcline.h"

static void debug_file_free(struct debug_file *dbg)
{
	elf_file_close(&dbg->elf);
	free(dbg->missing);
	free(dbg->build_id);
	free(dbg->name);
	free(dbg);
}

static const char *file_name(const struct debug_file *dbg)
{
	return *dbg->name ? dbg->name : "kernel";
}

/* A libdw without zstd rejects a file compressed with it as not an ELF file */
static void explain_packed(struct debug_file *dbg, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char magic[4] = "";

	if (fd >= 0 && read_at(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	    !memcmp(magic, "\x28\xb5\x2f\xfd", sizeof(magic))) {
		free(dbg->missing);
		dbg->missing = xasprintf("%s is compressed by zstd, which libdw here does not read: unpack it by unzstd",
					 path);
	}
	if (fd >= 0)
		close(fd);
}

static int open_file(struct debug_file *dbg, const char *path)
{
	if (!elf_file_open(&dbg->elf, file_name(dbg), path, &dbg->missing))
		return 0;
	explain_packed(dbg, path);
	return -1;
}

static int find_file(struct debug_file *dbg, const char *id)
{
	return elf_file_find(&dbg->elf, file_name(dbg), id, &dbg->missing);
}

/* ------------------------------------------------------------ the kernel --- */

/* Read the line "Linux version ..." of the image: "" if it is not there */
static void read_banner(struct debug_file *dbg, char *banner, size_t size)
{
	size_t n = 0;

	if (dbg->elf.banner_addr)
		n = elf_file_read(&dbg->elf, dbg->elf.banner_addr, banner, size - 1);
	banner[n] = '\0';
	banner[strcspn(banner, "\n")] = '\0';
	if (strncmp(banner, "Linux version ", 14))
		*banner = '\0';
}

/* Return true if @banner contains @text as whole words */
static bool banner_has(const char *banner, const char *text)
{
	size_t len = strlen(text);
	const char *p;

	for (p = banner; len && (p = strstr(p, text)); p++)
		if ((p == banner || p[-1] == ' ') && (!p[len] || p[len] == ' '))
			return true;
	return false;
}

/*
 * Compare the image with the release, version, banner, and build id of the recorded kernel, of
 * which each may be NULL.  Return the mismatch, or NULL; the caller frees it.  Set d->kernel_known
 * if the image certainly is of this build.
 */
static char *kernel_mismatch(struct debug_files *d, const char *release, const char *version,
			     const char *whole, const char *id)
{
	struct debug_file *dbg = d->kernel;
	char banner[512], *image_id, *why = NULL;

	d->kernel_known = false;
	if (id && *id) {
		image_id = elf_file_build_id(&dbg->elf);
		if (image_id && !strcmp(image_id, id))
			d->kernel_known = true;
		else
			why = xasprintf("%s has %s %s; the kernel that ran has build id %s",
					dbg->elf.path, image_id ? "build id" : "no build",
					image_id ?: "id", id);
		free(image_id);
	}
	read_banner(dbg, banner, sizeof(banner));
	if (d->kernel_known || !*banner)
		return why;
	if (release && *release && !banner_has(banner, release)) {
		free(why);
		return xasprintf("%s is of kernel %.*s, not of %s", dbg->elf.path,
				 (int)strcspn(banner + 14, " "), banner + 14, release);
	}
	if ((version && *version && !banner_has(banner, version)) ||
	    (whole && strncmp(whole, banner, strlen(banner)) &&
	     strncmp(banner, whole, strlen(whole)))) {
		free(why);
		return xasprintf("%s is of another build of this kernel: \"%s\" there, \"%s\" here",
				 dbg->elf.path, banner, version ?: whole);
	}
	/* A line of a log may be cut */
	d->kernel_known = !why && ((version && *version) ||
				   (whole && strlen(whole) >= strlen(banner)));
	return why;
}

/* Return 0 if the image may be used, or -1 with d->error set.  Arguments as above */
static int check_kernel(struct debug_files *d, const char *release, const char *version,
			const char *whole, const char *id)
{
	char *why = kernel_mismatch(d, release, version, whole, id);

	if (!why)
		return 0;
	if (!d->config.force)
		failed(d, "%s (--force uses it anyway)", why);
	else if (!d->reported_forced)
		report("%s: used anyway (--force)", why);
	d->reported_forced = d->config.force;
	free(why);
	return d->config.force ? 0 : -1;
}

/* Return true if the frames are of the running kernel, as far as is known */
static bool is_running(const struct debug_files *d)
{
	struct utsname uts;

	return !uname(&uts) && d->release && !strcmp(d->release, uts.release) &&
	       (!d->config.version || !strcmp(d->config.version, uts.version));
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
/*
 * Return the path of the kernel's image in place @i, or NULL after the last place; the caller frees
 * it
 */
static char *image_path(const char *release, size_t i)
{
	static const char *const places[] = {
		ELF_DEBUG_DIR "/boot/vmlinux-%s", ELF_DEBUG_DIR "/boot/vmlinux-%s.debug",
		ELF_DEBUG_DIR "/lib/modules/%s/vmlinux",
		ELF_DEBUG_DIR "/lib/modules/%s/vmlinux.debug",
		"/boot/vmlinux-%s", "/lib/modules/%s/vmlinux", "/lib/modules/%s/build/vmlinux",
	};

	/* The release becomes part of a path */
	if (i >= ARRAY_SIZE(places) || strchr(release, '/'))
		return NULL;
	return xasprintf(places[i], release);
}

#pragma GCC diagnostic pop

static void add_hint(char **text, char *hint)
{
	char *whole = xasprintf("%s: %s", *text, hint);

	free(hint);
	free(*text);
	*text = whole;
}

/*
 * Return the distribution's name of the package with a release's debug information, or NULL; the
 * caller frees it.  @version may be NULL
 */
static char *debug_package(const char *release, const char *version)
{
	static const struct {
		const char *release, *version, *name, *suffix;
	} package[] = {
		{ "*-amd64", "Debian", "Debian's package linux-image", "-dbg" },
		{ "*-arm64", "Debian", "Debian's package linux-image", "-dbg" },
		{ "*-generic", "Ubuntu", "Ubuntu's package linux-image", "-dbgsym" },
		{ "*-lowlatency", "Ubuntu", "Ubuntu's package linux-image", "-dbgsym" },
		/* Oracle's kernels; variants, as +rt and +debug */
		{ "*uek*", "", NULL, NULL },
		{ "*.el[0-9]*+*", "", NULL, NULL },
		{ "*.el[0-9]*", "", "the package kernel-debuginfo", "" },
		{ "*.fc[0-9]*", "", "the package kernel-debuginfo", "" },
		{ "*.amzn[0-9]*", "", "the package kernel-debuginfo", "" },
	};
	size_t i;

	for (i = 0; release && i < ARRAY_SIZE(package); i++)
		if (!fnmatch(package[i].release, release, 0) &&
		    (!version || strstr(version, package[i].version)))
			return package[i].name ? xasprintf("%s-%s%s", package[i].name, release,
							   package[i].suffix) : NULL;
	return NULL;
}

/* Return true if the file has debug information: Debian's vmlinux with only BTF has none */
static bool has_debug_info(const char *path)
{
	struct elf_file e = { 0 };
	char *why = NULL;
	bool has = !elf_file_open(&e, "", path, &why);

	if (has)
		elf_file_close(&e);
	free(why);
	return has;
}

/*
 * Return a description of where to find debug information for the recorded kernel or, if that is
 * unknown, for @release, which may be NULL.  The caller frees it.
 */
static char *where_debug_is(const struct debug_files *d, const char *release)
{
	char *path, *package;
	size_t i;

	if (d->release)
		release = d->release;
	for (i = 0; release && (path = image_path(release, i)); i++) {
		if (strcmp(path, d->config.vmlinux ?: "") && has_debug_info(path))
			return path;
		free(path);
	}
	package = debug_package(release, d->release ? d->config.version : NULL);
	if (package) {
		path = xasprintf("%s has it", package);
		free(package);
		return path;
	}
	return xasprintf("the debug package of %s%s has it, and the directory that it was built in",
			 release ? "kernel " : "this kernel", release ?: "");
}

/*
 * If the file is a bootable image, add to dbg->missing that it is not a vmlinux, and where to find
 * that
 */
static void explain_image(struct debug_files *d, const char *path)
{
	/*
	 * Images of x86 and arm64, compressed EFI images of both, and images compressed as a whole
	 */
	static const struct {
		unsigned int at;
		const char *magic;
	} kind[] = {
		{ 0x202, "HdrS" }, { 0x38, "ARM\x64" }, { 4, "zimg" }, { 0, "\x1f\x8b" },
		{ 0, "\xfd\x37zXZ" }, { 0, "\x28\xb5\x2f\xfd" },
	};
	struct debug_file *dbg = d->kernel;
	/* The setup code of x86 has up to 64 KiB */
	static unsigned char head[(64 << 10) + 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? 0 : read_at(fd, head, sizeof(head) - 1, 0);
	char release[128] = "";
	bool boot = false;
	unsigned int at;
	size_t i;

	if (fd >= 0)
		close(fd);
	for (i = 0; n > 0x210 && i < ARRAY_SIZE(kind); i++)
		boot |= !memcmp(head + kind[i].at, kind[i].magic, strlen(kind[i].magic));
	if (n > 0x210 && !memcmp(head + kind[0].at, kind[0].magic, strlen(kind[0].magic))) {
		/* x86: the setup code has the release here */
		at = 0x200 + head[0x20e] + 256 * head[0x20f];
		if (at < n)
			sscanf((char *)head + at, "%127[-+.~_0-9A-Za-z]", release);
	}
	if (boot) {
		free(dbg->missing);
		dbg->missing = xasprintf("%s is a compressed image for booting, without debug information, not a vmlinux",
					 path);
	}
	if (boot || strstr(dbg->missing, NO_DEBUG_INFO))
		add_hint(&dbg->missing, where_debug_is(d, *release ? release : NULL));
}

/*
 * Open the first image of the release that may be the recorded kernel's.  Set *@other to the first
 * that is not
 */
static void find_image(struct debug_files *d, char **other)
{
	struct debug_file *dbg = d->kernel;
	char *path, *why = NULL;
	size_t i;

	for (i = 0; d->release && !dbg->elf.path && (path = image_path(d->release, i)); i++) {
		if (!access(path, R_OK) && !open_file(dbg, path))
			why = kernel_mismatch(d, d->config.release, d->config.version, NULL,
					      dbg->build_id);
		if (why) {
			elf_file_close(&dbg->elf);
			if (!*other)
				*other = xstrdup(path);
		}
		free(why);
		why = NULL;
		free(path);
	}
}

int debug_files_kernel(struct debug_files *d)
{
	struct debug_file *dbg = d->kernel;
	const char *wanted = dbg->build_id ?: d->announced_id;
	char *id, *other = NULL;
	struct utsname uts;

	if (d->kernel_tried)
		return d->kernel_usable ? 0 : -1;
	d->kernel_tried = true;
	if (d->config.vmlinux) {
		if (open_file(dbg, d->config.vmlinux)) {
			explain_image(d, d->config.vmlinux);
			return failed(d, "%s", dbg->missing);
		}
	} else {
		if (!d->release && !wanted && !uname(&uts))
			d->release = xstrdup(uts.release);
		find_image(d, &other);
		id = wanted ? xstrdup(wanted) :
			      is_running(d) ? build_id_of_notes("/sys/kernel/notes") : NULL;
		if (!dbg->elf.path && id)
			find_file(dbg, id);
		free(id);
		/* check_kernel() below refuses it, or uses it anyway */
		if (!dbg->elf.path && other)
			open_file(dbg, other);
		free(other);
		if (!dbg->elf.path) {
			char *package = debug_package(d->release, d->config.version);

			failed(d, "no vmlinux with debug information of %s%s below %s, /boot or /lib/modules: install %s, or name the file: -k",
			       d->release ? "kernel " : "build id ", d->release ?: wanted,
			       ELF_DEBUG_DIR, package ?: "its debug package");
			free(package);
			return -1;
		}
	}
	d->kernel_usable = !check_kernel(d, d->config.release, d->config.version, NULL,
					 dbg->build_id);
	return d->kernel_usable ? 0 : -1;
}

int debug_files_check(struct debug_files *d)
{
	if (d->announced) {
		d->announced = false;
		free(d->mismatch);
		d->mismatch = NULL;
		if (!debug_files_kernel(d) &&
		    check_kernel(d, d->announced_release, NULL, d->announced_banner,
				 d->announced_id))
			d->mismatch = xstrdup(d->error);
	}
	return d->mismatch ? failed(d, "%s", d->mismatch) : 0;
}

/* ----------------------------------------------------------- the modules --- */

/* The directories after the configured ones: the image's, and two of the release */
#define DEBUG_DIRECTORIES	3

/*
 * Return the directory of modules with this number, or NULL if it is unknown; the caller frees it
 */
static char *module_directory(struct debug_files *d, unsigned int i)
{
	char *path, *directory;

	if (i < d->config.module_dirs)
		return xstrdup(d->config.modules[i]);
	i -= d->config.module_dirs;
	if (!i) {
		path = debug_files_kernel(d) ? NULL : xstrdup(d->kernel->elf.path);
		directory = path ? xstrdup(dirname(path)) : NULL;
		free(path);
		return directory;
	}
	if (!d->release || strchr(d->release, '/'))
		return NULL;
	return xasprintf(i == 1 ? ELF_DEBUG_DIR "/lib/modules/%s" : "/lib/modules/%s", d->release);
}

/* Add the files of the next directory.  Return false if all were read */
static bool read_directory(struct debug_files *d)
{
	char *roots[2] = { NULL };
	FTS *fts = NULL;
	FTSENT *entry;

	if (d->directories == d->config.module_dirs + DEBUG_DIRECTORIES)
		return false;
	roots[0] = module_directory(d, d->directories++);
	if (roots[0])
		fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT | FTS_COMFOLLOW,
			       NULL);
	while (fts && (entry = fts_read(fts))) {
		if (entry->fts_info == FTS_D || entry->fts_info == FTS_DP)
			continue;
		if (!strstr(entry->fts_name, ".ko"))
			continue;
		GROW(d->module_file, d->module_files);
		d->module_file[d->module_files++] = xstrdup(entry->fts_path);
	}
	if (fts)
		fts_close(fts);
	free(roots[0]);
	return true;
}

/* Return true if the file is NAME.ko or NAME.ko.gz etc. "-" and "_" are equal in module names */
static bool is_file_of(const char *path, const char *module)
{
	const char *file = strrchr(path, '/');

	for (file = file ? file + 1 : path; *module; file++, module++)
		if (*file != *module && !(*file == '-' && *module == '_') &&
		    !(*file == '_' && *module == '-'))
			return false;
	return !strncmp(file, ".ko", 3) && (!file[3] || file[3] == '.');
}

/*
 * Return why this file is not the recorded module, or NULL; the caller frees it.  Set *@known if it
 * certainly is that module.
 */
static char *module_mismatch(struct debug_files *d, struct debug_file *dbg, bool *known)
{
	char value[128], *id;

	*known = false;
	elf_file_modinfo(&dbg->elf, "vermagic", value, sizeof(value));
	value[strcspn(value, " ")] = '\0';
	if (*value && d->release && strcmp(value, d->release))
		return xasprintf("%s is for kernel %s, not for %s", dbg->elf.path, value,
				 d->release);
	elf_file_modinfo(&dbg->elf, "srcversion", value, sizeof(value));
	if (!strcmp(dbg->name, "stackbuf") && d->config.srcversion && *d->config.srcversion &&
	    *value && strcmp(value, d->config.srcversion))
		return xasprintf("%s has srcversion %s, and %s was loaded", dbg->elf.path, value,
				 d->config.srcversion);
	if (!dbg->build_id)
		return NULL;
	id = elf_file_build_id(&dbg->elf);
	*known = id && !strcmp(id, dbg->build_id);
	free(id);
	if (*known)
		return NULL;
	return xasprintf("%s has another build id than the module that ran, %s", dbg->elf.path,
			 dbg->build_id);
}

/* Accept the open file, or close it and set dbg->missing to the reason */
static bool try_module(struct debug_files *d, struct debug_file *dbg, bool force)
{
	bool known;
	char *why = module_mismatch(d, dbg, &known);

	if (why && !force) {
		elf_file_close(&dbg->elf);
		free(dbg->missing);
		dbg->missing = why;
		return false;
	}
	if (why)
		report("%s: used anyway (--force)", why);
	else if (!known)
		report("%s: not known to be the build that ran", dbg->elf.path);
	free(why);
	return true;
}

static bool find_module(struct debug_files *d, struct debug_file *dbg, bool force)
{
	size_t i = 0;

	do {
		for (; i < d->module_files; i++)
			if (is_file_of(d->module_file[i], dbg->name) &&
			    !open_file(dbg, d->module_file[i]) && try_module(d, dbg, force))
				return true;
	} while (read_directory(d));
	return false;
}

static void open_module(struct debug_files *d, struct debug_file *dbg)
{
	unsigned int dirs = d->config.module_dirs;
	char *notes, *id, *directory, *package;
	char banner[512] = "";
	bool found;

	if (!debug_files_kernel(d) && !d->release)
		read_banner(d->kernel, banner, sizeof(banner));
	if (*banner)
		d->release = xasprintf("%.*s", (int)strcspn(banner + 14, " "), banner + 14);
	if (find_module(d, dbg, false))
		return;
	if (!dbg->build_id && is_running(d)) {
		notes = xasprintf("/sys/module/%s/notes/.note.gnu.build-id", dbg->name);
		id = build_id_of_notes(notes);
		free(notes);
	} else {
		id = xstrdup(dbg->build_id);
	}
	found = id && !find_file(dbg, id) && try_module(d, dbg, false);
	free(id);
	if (found || (d->config.force && find_module(d, dbg, true)))
		return;
	if (!dbg->missing) {
		dbg->missing = xasprintf("no %s.ko in %s%s%s", dbg->name,
				     dirs > 1 ? "the directories of -m" :
				     dirs ? *d->config.modules : "the usual places",
				     dirs ? " or the usual places" : "",
				     dirs ? "" : " (name its directory: -m)");
		directory = module_directory(d, dirs + 1);
		package = debug_package(d->release, d->config.version);
		if (strcmp(dbg->name, "stackbuf") && directory && access(directory, F_OK) &&
		    package)
			add_hint(&dbg->missing, xasprintf("%s has the kernel's own", package));
		free(package);
		free(directory);
	} else if (strstr(dbg->missing, NO_DEBUG_INFO) && strstr(dbg->missing, "/kernel/")) {
		add_hint(&dbg->missing, where_debug_is(d, NULL));
	}
}

static struct debug_file *find_or_open_module(struct debug_files *d, const char *module, size_t len,
					      const char *id)
{
	struct debug_file **p, *dbg;

	for (p = &d->kernel->next; (dbg = *p); p = &dbg->next)
		if (!strncmp(dbg->name, module, len) && !dbg->name[len] &&
		    !strcmp(dbg->build_id ?: "", id))
			return dbg;
	dbg = xcalloc(1, sizeof(*dbg));
	dbg->name = xasprintf("%.*s", (int)len, module);
	dbg->build_id = *id ? xstrdup(id) : NULL;
	*p = dbg;
	open_module(d, dbg);
	return dbg;
}

struct debug_file *debug_files_find(struct debug_files *d, const char *module, size_t len,
				    const char *id)
{
	if (len)
		return find_or_open_module(d, module, len, id);
	if (debug_files_kernel(d))
		return NULL;
	if (!d->kernel_known && !d->reported_unknown && !d->reported_forced)
		report("%s: not known to be the build that ran", d->kernel->elf.path);
	d->reported_unknown |= !d->kernel_known;
	return d->kernel;
}

/* ------------------------------------------------------------ everything --- */

void debug_files_init(struct debug_files *d, const struct debug_config *config)
{
	const char *id = config->ids ? build_ids_find(config->ids, "", 0) : NULL;

	memset(d, 0, sizeof(*d));
	d->config = *config;
	d->release = xstrdup(config->release);
	d->kernel = xcalloc(1, sizeof(*d->kernel));
	d->kernel->name = xstrdup("");
	d->kernel->build_id = xstrdup(id);
}

/* Close the modules and forget their paths */
static void forget_modules(struct debug_files *d)
{
	struct debug_file *dbg, *next;

	for (dbg = d->kernel->next; dbg; dbg = next) {
		next = dbg->next;
		debug_file_free(dbg);
	}
	d->kernel->next = NULL;
	while (d->module_files)
		free(d->module_file[--d->module_files]);
	d->directories = 0;
}

bool debug_files_announce(struct debug_files *d, const char *release, const char *banner,
			  const char *id)
{
	/* A line without a banner may be of the last announced kernel */
	bool same = !banner && d->announced_release && !strcmp(release, d->announced_release);
	bool changed = false;

	/* There may be an image for this kernel even if the previous one had none */
	if (!d->config.vmlinux && !d->config.release && !d->kernel->elf.path &&
	    (!d->release || strcmp(d->release, release))) {
		forget_modules(d);
		changed = true;
		d->kernel_tried = false;
		free(d->release);
		d->release = xstrdup(release);
	}
	if (!same) {
		free(d->announced_release);
		free(d->announced_banner);
		free(d->announced_id);
		d->announced_release = xstrdup(release);
		d->announced_banner = xstrdup(banner);
		d->announced_id = NULL;
	}
	if (id) {
		free(d->announced_id);
		d->announced_id = xstrdup(id);
	}
	d->announced = true;
	return changed;
}

void debug_files_free(struct debug_files *d)
{
	forget_modules(d);
	free(d->module_file);
	debug_file_free(d->kernel);
	free(d->release);
	free(d->announced_release);
	free(d->announced_banner);
	free(d->announced_id);
	free(d->mismatch);
}
