// Stands before the system's library and fails the Nth operation on files below one folder, whoever asks for it.

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum Kind { FULL, BROKEN, SHORT, PART, INTERRUPT, QUOTA, READ_ONLY, DENIED };

static char folder[4096];
static long left;
static int kind;
static bool is_armed, is_full;
static const char *failed = "";

extern "C" void fail_at(const char *below, long calls, int how) {
    snprintf(folder, sizeof folder, "%s/", below);
    left = calls;
    kind = how;
    is_full = false;
    failed = "";
    is_armed = calls > 0;
}

// The operation that failed, or none; nothing fails from here on.
extern "C" const char *fail_no_more(long *still_left) {
    is_armed = false;
    *still_left = left;
    return failed;
}

template <typename F> static F real(const char *name, F) { return reinterpret_cast<F>(dlsym(RTLD_NEXT, name)); }
#define REAL(name) static auto real_##name = real(#name, &name)

static bool is_below(const char *path) { return is_armed && strncmp(path, folder, strlen(folder)) == 0; }

static bool is_below(int file) {
    if (!is_armed) return false;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, sizeof path - 1);
    path[size < 0 ? 0 : size] = 0;
    return is_below(path);
}

static bool fails(const char *name) {
    if (--left != 0) return false;
    failed = name;
    if (kind == INTERRUPT) {
        raise(SIGINT);
        return false;
    }
    errno = kind == BROKEN      ? EIO
            : kind == QUOTA     ? EDQUOT
            : kind == READ_ONLY ? EROFS
            : kind == DENIED    ? EACCES
                                : ENOSPC;
    return true;
}

// How many of so many bytes may be written; -1: none, it fails.
static ssize_t allowed(const char *name, int file, size_t size) {
    if (!is_below(file)) return (ssize_t)size;
    if (is_full) {
        errno = ENOSPC;
        return -1;
    }
    if ((kind == SHORT || kind == PART) && size > 1) {
        if (--left != 0) return (ssize_t)size;
        failed = name;
        is_full = kind == PART;
        return (ssize_t)(size / 2);
    }
    return fails(name) ? -1 : (ssize_t)size;
}

extern "C" {

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        REAL(name);                                                                                                    \
        va_list words;                                                                                                 \
        va_start(words, flags);                                                                                        \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(words, mode_t) : 0;                                       \
        va_end(words);                                                                                                 \
        return is_below(path) && fails("open") ? -1 : real_##name(path, flags, mode);                                  \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                                   \
    int name(int at, const char *path, int flags, ...) {                                                               \
        REAL(name);                                                                                                    \
        va_list words;                                                                                                 \
        va_start(words, flags);                                                                                        \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(words, mode_t) : 0;                                       \
        va_end(words);                                                                                                 \
        return is_below(path) && fails("open") ? -1 : real_##name(at, path, flags, mode);                              \
    }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int file, const void *data, size_t size) {
    REAL(write);
    ssize_t some = allowed("write", file, size);
    return some < 0 ? -1 : real_write(file, data, (size_t)some);
}

#define PWRITE(name, offset_type)                                                                                      \
    ssize_t name(int file, const void *data, size_t size, offset_type offset) {                                        \
        REAL(name);                                                                                                    \
        ssize_t some = allowed("write", file, size);                                                                   \
        return some < 0 ? -1 : real_##name(file, data, (size_t)some, offset);                                          \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t writev(int file, const struct iovec *parts, int count) {
    REAL(writev);
    return is_below(file) && fails("write") ? -1 : real_writev(file, parts, count);
}

#define SENDFILE(name, offset_type)                                                                                    \
    ssize_t name(int out, int in, offset_type *offset, size_t size) {                                                  \
        static auto next = reinterpret_cast<ssize_t (*)(int, int, offset_type *, size_t)>(dlsym(RTLD_NEXT, #name));    \
        ssize_t some = allowed("write", out, size);                                                                    \
        return some < 0 ? -1 : next(out, in, offset, (size_t)some);                                                    \
    }
SENDFILE(sendfile, off_t)
SENDFILE(sendfile64, off64_t)

ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags) {
    REAL(copy_file_range);
    ssize_t some = allowed("write", out, size);
    return some < 0 ? -1 : real_copy_file_range(in, from, out, to, (size_t)some, flags);
}

int fsync(int file) {
    REAL(fsync);
    return is_below(file) && fails("fsync") ? -1 : real_fsync(file);
}

int close(int file) {
    REAL(close);
    bool is_failing = is_below(file) && kind == BROKEN && fails("close"); // it is closed, whatever is said
    int done = real_close(file);
    if (is_failing) errno = EIO;
    return is_failing ? -1 : done;
}

int rename(const char *from, const char *to) {
    REAL(rename);
    return is_below(from) && fails("rename") ? -1 : real_rename(from, to);
}

int renameat(int from_at, const char *from, int to_at, const char *to) {
    REAL(renameat);
    return is_below(from) && fails("rename") ? -1 : real_renameat(from_at, from, to_at, to);
}

int link(const char *from, const char *to) {
    REAL(link);
    return is_below(from) && fails("link") ? -1 : real_link(from, to);
}

int linkat(int from_at, const char *from, int to_at, const char *to, int flags) {
    REAL(linkat);
    return is_below(from) && fails("link") ? -1 : real_linkat(from_at, from, to_at, to, flags);
}

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    return is_below(path) && fails("mkdir") ? -1 : real_mkdir(path, mode);
}
}
