/* Stands between a process and its disk (LD_PRELOAD).
 *
 * Records what is done to the files of the folder DISK_FOLDER into the file DISK_LOG: every write, every change of a
 * file's length, every file made or deleted, and the beginning and the end of every sync. While the file DISK_BROKEN
 * exists, syncing fails with EIO. Each entry is a header and `length` bytes of data; _disk.py reads them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { MADE = 1, DELETED, WRITE, LENGTH, SYNC_BEGINS, SYNC_ENDS };
enum { MOST_FILES = 1024, MOST_DESCRIPTORS = 4096, LONGEST_NAME = 256 };

struct entry {
  uint32_t kind, file;
  uint64_t offset, length;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char names[MOST_FILES][LONGEST_NAME]; /* by file; file 0 is the folder itself; empty: deleted */
static int files = 1;
static int file_of[MOST_DESCRIPTORS]; /* file + 1; 0: not one of ours */
static int log_fd = -1;

static int (*real_open)(const char *, int, ...);
static int (*real_close)(int);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_ftruncate)(int, off_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_unlink)(const char *);

static void set_up(void) {
  if (real_open) return;
  real_close = dlsym(RTLD_NEXT, "close");
  real_write = dlsym(RTLD_NEXT, "write");
  real_pwrite = dlsym(RTLD_NEXT, "pwrite");
  real_ftruncate = dlsym(RTLD_NEXT, "ftruncate");
  real_fsync = dlsym(RTLD_NEXT, "fsync");
  real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
  real_unlink = dlsym(RTLD_NEXT, "unlink");
  real_open = dlsym(RTLD_NEXT, "open");
  const char *path = getenv("DISK_LOG");
  if (path) log_fd = real_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

__attribute__((constructor)) static void begin(void) { set_up(); }

static void record(uint32_t kind, int file, uint64_t offset, const void *data, uint64_t length) {
  struct entry entry = {kind, (uint32_t)file, offset, length};
  if (log_fd < 0) return;
  if (real_write(log_fd, &entry, sizeof entry) != (ssize_t)sizeof entry) abort();
  if (length && real_write(log_fd, data, length) != (ssize_t)length) abort();
}

/* The name inside the folder; NULL for what is elsewhere, for locks and for the index in shared memory. */
static const char *name_in_folder(const char *path) {
  const char *folder = getenv("DISK_FOLDER");
  size_t length = folder ? strlen(folder) : 0;
  if (!length || strncmp(path, folder, length)) return NULL;
  if (!path[length]) return ".";
  if (path[length] != '/' || strlen(path + length + 1) >= LONGEST_NAME) return NULL;
  const char *name = path + length + 1;
  if (strstr(name, "-shm") || strstr(name, ".lock")) return NULL;
  return *name ? name : ".";
}

static int find(const char *name) {
  if (!strcmp(name, ".")) return 0;
  for (int file = 1; file < files; file++)
    if (!strcmp(names[file], name)) return file;
  return -1;
}

static int follow(const char *path, int flags, mode_t mode) {
  set_up();
  const char *name = name_in_folder(path);
  pthread_mutex_lock(&lock);
  int fd = real_open(path, flags, mode);
  if (fd >= 0 && fd < MOST_DESCRIPTORS) file_of[fd] = 0;
  if (name && fd >= 0 && fd < MOST_DESCRIPTORS) {
    int file = find(name);
    if (file < 0) {
      file = files++;
      if (files == MOST_FILES) abort();
      strcpy(names[file], name);
      record(MADE, file, 0, name, strlen(name));
    }
    file_of[fd] = file + 1;
  }
  pthread_mutex_unlock(&lock);
  return fd;
}

#define OPEN(function)                            \
  int function(const char *path, int flags, ...) { \
    va_list rest;                                 \
    va_start(rest, flags);                        \
    mode_t mode = va_arg(rest, int);              \
    va_end(rest);                                 \
    return follow(path, flags, mode);             \
  }
OPEN(open)
OPEN(open64)

static int file_at(int fd) { return fd >= 0 && fd < MOST_DESCRIPTORS ? file_of[fd] - 1 : -1; }

int close(int fd) {
  set_up();
  if (file_at(fd) >= 0) {
    pthread_mutex_lock(&lock);
    file_of[fd] = 0;
    pthread_mutex_unlock(&lock);
  }
  return real_close(fd);
}

static ssize_t put(int fd, const void *data, size_t length, off_t offset) {
  set_up();
  pthread_mutex_lock(&lock);
  ssize_t done = real_pwrite(fd, data, length, offset);
  if (done > 0) record(WRITE, file_at(fd), (uint64_t)offset, data, (uint64_t)done);
  pthread_mutex_unlock(&lock);
  return done;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
  set_up();
  return file_at(fd) < 0 ? real_pwrite(fd, data, length, offset) : put(fd, data, length, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
  return pwrite(fd, data, length, (off_t)offset);
}

ssize_t write(int fd, const void *data, size_t length) {
  set_up();
  if (file_at(fd) < 0) return real_write(fd, data, length);
  ssize_t done = put(fd, data, length, lseek(fd, 0, SEEK_CUR));
  if (done > 0) lseek(fd, done, SEEK_CUR);
  return done;
}

int ftruncate(int fd, off_t length) {
  set_up();
  if (file_at(fd) < 0) return real_ftruncate(fd, length);
  pthread_mutex_lock(&lock);
  int result = real_ftruncate(fd, length);
  if (!result) record(LENGTH, file_at(fd), (uint64_t)length, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}

int ftruncate64(int fd, off64_t length) { return ftruncate(fd, (off_t)length); }

static int sync_file(int fd, int (*sync)(int)) {
  int file = file_at(fd);
  if (file < 0) return sync(fd);
  const char *broken = getenv("DISK_BROKEN");
  if (broken && !access(broken, F_OK)) {
    errno = EIO;
    return -1;
  }
  pthread_mutex_lock(&lock);
  record(SYNC_BEGINS, file, 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  int result = sync(fd);
  pthread_mutex_lock(&lock);
  if (!result) record(SYNC_ENDS, file, 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}

int fsync(int fd) {
  set_up();
  return sync_file(fd, real_fsync);
}

int fdatasync(int fd) {
  set_up();
  return sync_file(fd, real_fdatasync);
}

int unlink(const char *path) {
  set_up();
  const char *name = name_in_folder(path);
  pthread_mutex_lock(&lock);
  int result = real_unlink(path);
  int file = name && !result ? find(name) : -1;
  if (file > 0) {
    record(DELETED, file, 0, NULL, 0);
    names[file][0] = 0;
  }
  pthread_mutex_unlock(&lock);
  return result;
}
