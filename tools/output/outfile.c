// SPDX-License-Identifier: GPL-2.0
/*
 * outfile.c - a file that gets its name when it is complete
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "ending.h"
#include "output/files.h"

/* Limit of successive symbolic links, as in the kernel */
#define LINKS_MAX	40

/* Only one file is written at a time */
static char *volatile to_remove;

static void remove_unfinished(void)
{
	unlink(to_remove);
}

static void release(void)
{
	ending_undo(ENDING_FILE, NULL);
	to_remove = NULL;
}

/* Copy the directory of @path, "." if it has none, to @directory */
static void directory_of(const char *path, char directory[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	int len = !slash ? 0 : slash == path ? 1 : (int)(slash - path);

	snprintf(directory, PATH_MAX, "%.*s", len ? len : 1, len ? path : ".");
}

/* Return true if the owner is neither this user nor root */
static bool is_foreign(uid_t owner)
{
	return owner && owner != geteuid();
}

/*
 * With @own, directory and file must belong to this user or root.  In any case: in a directory
 * where every user may create files, as /tmp, do not follow links or write to files of another
 * user.  The kernel's fs.protected_symlinks and fs.protected_fifos do the same, but do not cover
 * readlink() and rename().
 */
static int check_owner(const char *directory, const struct stat *st, bool own)
{
	struct stat dir;

	if (stat(directory, &dir))
		return -1;
	if ((own && (is_foreign(dir.st_uid) || is_foreign(st->st_uid))) ||
	    (dir.st_mode & S_ISVTX && dir.st_mode & 0002 && st->st_uid != geteuid() &&
	     st->st_uid != dir.st_uid)) {
		errno = EACCES;
		return -1;
	}
	return 0;
}

/* Open a file that is not regular; if this program has it open, duplicate that descriptor */
static int open_direct(const char *path, const struct stat *st)
{
	struct stat mine;
	int fd;

	for (fd = STDOUT_FILENO; fd < 1024; fd++)
		if (!fstat(fd, &mine) && mine.st_dev == st->st_dev && mine.st_ino == st->st_ino &&
		    mine.st_rdev == st->st_rdev && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
			return fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | (S_ISREG(st->st_mode) ? O_TRUNC : 0));
}

/*
 * Follow symbolic links at the end of @path, in place.  Return 1 if the target must be written
 * directly, 0 if it is a regular file or does not exist, -1 with errno set.
 */
static int resolve(char path[PATH_MAX], bool own)
{
	char directory[PATH_MAX], link[PATH_MAX], joined[2 * PATH_MAX];
	const struct stat mine = { .st_uid = geteuid() };
	struct statfs fs;
	struct stat st;
	unsigned int i;
	ssize_t len;
	int fd;

	for (i = 0; i < LINKS_MAX; i++) {
		directory_of(path, directory);
		fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT)
			return own ? check_owner(directory, &mine, true) : 0;
		if (fd < 0)
			return -1;
		if (fstat(fd, &st)) {
			close(fd);
			return -1;
		}
		if (!S_ISLNK(st.st_mode)) {
			close(fd);
			if (S_ISREG(st.st_mode))
				return own ? check_owner(directory, &mine, true) : 0;
			if (S_ISDIR(st.st_mode))
				errno = EISDIR;
			return S_ISDIR(st.st_mode) || check_owner(directory, &st, own) ? -1 : 1;
		}
		/* A link in /proc is an open file, whatever the link's text is */
		if (!fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC) {
			close(fd);
			return 1;
		}
		len = check_owner(directory, &st, own) ? -1 :
			readlinkat(fd, "", link, sizeof(link) - 1);
		close(fd);
		if (len < 0)
			return -1;
		link[len] = '\0';
		snprintf(joined, sizeof(joined), "%s/%s", directory, link);
		if (strlen(*link == '/' ? link : joined) >= PATH_MAX) {
			errno = ENAMETOOLONG;
			return -1;
		}
		strcpy(path, *link == '/' ? link : joined);
	}
	errno = ELOOP;
	return -1;
}

/* Create a file with a unique name next to @path; signals remove it */
static int open_beside(struct outfile *out, const char *path, mode_t mode)
{
	static const char unique[] = ".XXXXXX";
	const char *slash = strrchr(path, '/');
	/* The longest name has no room for more */
	size_t max = (slash ? slash + 1 - path : 0) + NAME_MAX - strlen(unique);
	size_t len = strlen(path);
	sigset_t mask;
	int fd;

	out->target = xstrdup(path);
	out->unfinished = xasprintf("%.*s%s", (int)(len < max ? len : max), path, unique);
	ending_block(&mask);
	fd = mkostemp(out->unfinished, O_CLOEXEC);
	if (fd >= 0) {
		to_remove = out->unfinished;
		ending_undo(ENDING_FILE, remove_unfinished);
	}
	sigprocmask(SIG_SETMASK, &mask, NULL);
	/* mkostemp() made it 0600.  Ignore errors: some filesystems have no modes */
	if (fd >= 0 && mode != 0600)
		fchmod(fd, mode);
	return fd;
}

/* Remove the file unless it is complete, and free @out */
static void forget(struct outfile *out)
{
	int error = errno;

	if (to_remove) {
		unlink(to_remove);
		release();
	}
	free(out->unfinished);
	free(out->target);
	memset(out, 0, sizeof(*out));
	errno = error;
}

int outfile_open(struct outfile *out, const char *name, mode_t mode, bool own)
{
	char path[PATH_MAX];
	struct stat st;
	int fd, direct;

	memset(out, 0, sizeof(*out));
	if (!strcmp(name, "-")) {
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	} else {
		if (strlen(name) >= sizeof(path)) {
			errno = ENAMETOOLONG;
			return -1;
		}
		strcpy(path, name);
		direct = resolve(path, own);
		if (direct < 0 || (direct && stat(path, &st)))
			return -1;
		fd = direct ? open_direct(path, &st) : open_beside(out, path, mode);
	}
	out->file = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (out->file)
		return 0;
	if (fd >= 0)
		close(fd);
	forget(out);
	return -1;
}

int outfile_close(struct outfile *out, int failed)
{
	int error = errno;

	if (!failed) {
		failed = fflush(out->file) || (out->unfinished && fsync(fileno(out->file)));
		error = errno;
	}
	if (fclose(out->file) && !failed) {
		failed = -1;
		error = errno;
	}
	if (!failed && out->unfinished) {
		failed = rename(out->unfinished, out->target);
		error = errno;
		if (!failed)
			release();
	}
	errno = error;
	forget(out);
	return failed ? -1 : 0;
}

void outfile_write(const char *name, mode_t mode, const char *text, size_t len)
{
	struct outfile out;
	mode_t mask = umask(0);

	umask(mask);
	if (outfile_open(&out, name, mode & ~mask, false) ||
	    outfile_close(&out, fwrite(text, 1, len, out.file) == len ? 0 : -1))
		die(1, "%s: cannot be written: %m", name);
}
