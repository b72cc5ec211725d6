// What both programs need of HTTP/1.1: the length of a body, and its bytes wherever the reads cut them.
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <time.h>

enum { HEAD_LIMIT = 16 * 1024 };
#define MS_NS INT64_C(1000000)
#define SECOND_NS INT64_C(1000000000)

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  exit(2);
}

static inline int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * SECOND_NS + t.tv_nsec;
}

static inline size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

static void *must_alloc(size_t bytes) {
  void *memory = calloc(1, bytes);
  if (!memory) die("out of memory");
  return memory;
}

static void allow_many_sockets(void) {
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

// A string that grows: only used before measuring, or once for each behaviour.
struct text {
  char *at;
  size_t length, room;
};

static void add_bytes(struct text *t, const char *bytes, size_t n) {
  if (t->length + n > t->room) {
    t->room = (t->length + n) * 2;
    t->at = realloc(t->at, t->room);
    if (!t->at) die("out of memory");
  }
  memcpy(t->at + t->length, bytes, n);
  t->length += n;
}

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...) {
  char line[2048];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  if (n < 0 || (size_t)n >= sizeof line) die("a line is longer than %zu bytes", sizeof line);
  add_bytes(t, line, (size_t)n);
}

// ---- heads ----

struct head {
  int64_t length; // -1: not said
  bool chunked, close, bad;
};

// The end of a head (behind its empty line), or NULL while it is not there yet.
static inline const char *end_of_head(const char *from, const char *to) {
  const char *empty_line = memmem(from, (size_t)(to - from), "\r\n\r\n", 4);
  return empty_line ? empty_line + 4 : NULL;
}

static inline bool named(const char *line, size_t length, const char *name, size_t name_length) {
  return length > name_length && line[name_length] == ':' && strncasecmp(line, name, name_length) == 0;
}

static inline bool has_word(const char *line, const char *end, const char *word) {
  size_t n = strlen(word);
  for (; (size_t)(end - line) >= n; line++)
    if (strncasecmp(line, word, n) == 0) return true;
  return false;
}

static inline int64_t parse_length(const char *from, const char *to) {
  int64_t n = 0;
  int digits = 0;
  while (from < to && *from == ' ') from++;
  for (; from < to && *from >= '0' && *from <= '9' && digits < 15; from++, digits++) n = n * 10 + (*from - '0');
  while (from < to && (*from == ' ' || *from == '\r')) from++;
  return digits && from == to ? n : -1;
}

// Reads the header lines that say where the body ends; the first line is the caller's.
static inline struct head parse_head(const char *from, const char *to) {
  struct head head = {.length = -1};
  const char *line = memchr(from, '\n', (size_t)(to - from));
  while (line && ++line < to) {
    const char *end = memchr(line, '\n', (size_t)(to - line));
    if (!end) break;
    size_t length = (size_t)(end - line);
    // The first letter rules out nearly every line without a comparison.
    char first = (char)(*line | 32);
    if (first == 'c' && named(line, length, "content-length", 14)) {
      int64_t said = parse_length(line + 15, end);
      if (said < 0 || (head.length >= 0 && head.length != said)) head.bad = true;
      head.length = said;
    } else if (first == 'c' && named(line, length, "connection", 10)) {
      head.close |= has_word(line + 11, end, "close");
    } else if (first == 't' && named(line, length, "transfer-encoding", 17)) {
      head.chunked = has_word(line + 18, end, "chunked");
    }
    line = end;
  }
  if (head.chunked && head.length >= 0) head.bad = true; // two lengths: one of them is a lie
  return head;
}

// ---- bodies ----

enum body_state {
  BODY_DONE,
  BODY_BAD,
  BODY_LENGTH, // content-length: `left` bytes to come
  CHUNK_SIZE,
  CHUNK_EXTENSION,
  CHUNK_SIZE_LF,
  CHUNK_DATA,
  CHUNK_DATA_CR,
  CHUNK_DATA_LF,
  TRAILER_START,
  TRAILER_LINE,
  TRAILER_LAST_LF,
};

struct body {
  enum body_state state;
  int digits;
  uint64_t left;
};

static inline struct body body_of(const struct head *head) {
  if (head->bad) return (struct body){.state = BODY_BAD};
  if (head->chunked) return (struct body){.state = CHUNK_SIZE};
  if (head->length > 0) return (struct body){.state = BODY_LENGTH, .left = (uint64_t)head->length};
  return (struct body){.state = BODY_DONE};
}

static inline int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = (char)(c | 32);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Goes on until it has one run of body bytes (`data`, `length`), the input is used up, or the body is done or bad.
// Returns where it stopped. All it knows between calls is in `body`, so the input may be cut anywhere.
static inline const char *body_step(struct body *body, const char *at, const char *end, const char **data,
                                    size_t *length) {
  *data = at;
  *length = 0;
  while (at < end) {
    switch (body->state) {
    case BODY_DONE:
    case BODY_BAD:
      return at;
    case BODY_LENGTH:
    case CHUNK_DATA:
      *data = at;
      *length = smaller(body->left, (size_t)(end - at));
      body->left -= *length;
      if (body->left == 0) body->state = body->state == BODY_LENGTH ? BODY_DONE : CHUNK_DATA_CR;
      return at + *length;
    case CHUNK_SIZE: {
      int digit = hex_digit(*at);
      if (digit >= 0 && body->digits < 8) {
        body->left = body->left * 16 + (uint64_t)digit;
        body->digits++;
      } else if (!body->digits || digit >= 0) {
        body->state = BODY_BAD;
      } else if (*at == '\r') {
        body->state = CHUNK_SIZE_LF;
      } else {
        body->state = *at == ';' || *at == ' ' ? CHUNK_EXTENSION : BODY_BAD;
      }
      at++;
      break;
    }
    case CHUNK_EXTENSION:
      if (*at++ == '\r') body->state = CHUNK_SIZE_LF;
      break;
    case CHUNK_SIZE_LF:
      body->digits = 0;
      body->state = *at++ != '\n' ? BODY_BAD : body->left ? CHUNK_DATA : TRAILER_START;
      break;
    case CHUNK_DATA_CR:
      body->state = *at++ == '\r' ? CHUNK_DATA_LF : BODY_BAD;
      break;
    case CHUNK_DATA_LF:
      body->state = *at++ == '\n' ? CHUNK_SIZE : BODY_BAD;
      break;
    case TRAILER_START:
      body->state = *at++ == '\r' ? TRAILER_LAST_LF : TRAILER_LINE;
      break;
    case TRAILER_LINE:
      if (*at++ == '\n') body->state = TRAILER_START;
      break;
    case TRAILER_LAST_LF:
      body->state = *at++ == '\n' ? BODY_DONE : BODY_BAD;
      break;
    }
  }
  return at;
}

// ---- frames ----

// `~SSSSSS.TTTTTTTTTTTTTTTT~`: which delta it is, and when it was written (CLOCK_MONOTONIC, the last 16 digits).
enum { SEQUENCE_DIGITS = 6, STAMP_DIGITS = 16, STAMP_AT = SEQUENCE_DIGITS + 2, MARKER = STAMP_AT + STAMP_DIGITS + 1 };
#define STAMP_TURN INT64_C(10000000000000000)

static inline void write_digits(char *to, int digits, uint64_t n) {
  for (int i = digits - 1; i >= 0; i--, n /= 10) to[i] = (char)('0' + n % 10);
}

// False if a byte is not a digit.
static inline bool read_digits(const char *from, int digits, uint64_t *n) {
  uint64_t value = 0;
  for (int i = 0; i < digits; i++) {
    unsigned digit = (unsigned)(from[i] - '0');
    if (digit > 9) return false;
    value = value * 10 + digit;
  }
  *n = value;
  return true;
}
