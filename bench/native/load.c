// A load generator that checks what it gets: every answer whole, every frame of every stream there and in order.
// Usage: load <mode> --url http://127.0.0.1:P/path --headers FILE --body FILE [--at-least BYTES] and
//   plain  --connections N --seconds S [--warmup S]             closed loop of whole answers
//   rate   --connections N --rate R --seconds S [--warmup S]    open loop, latency from when a request was due
//   stream --connections N --seconds S --frames F [--warmup S]  closed loop of streams
//   paced  --streams N --frames F --every MS --ramp S --seconds S [--warmup S]   N streams open all the time
//   abort  --connections N --count C                            leaves each stream after its first frame
// Prints one line of JSON.
#include "http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  INBOX = 256 * 1024,
  EVENTS = 512,
  SOURCES = 8, // 127.0.0.1 to 127.0.0.8, so that the ports of one address do not run out
  ERROR_LENGTH = 256,
};
static const int64_t PATIENCE = 30 * SECOND_NS, TICK = 100 * MS_NS, LATE = MS_NS;

enum mode { PLAIN, RATE, STREAM, PACED, ABORT };
static const char *const MODES[] = {"plain", "rate", "stream", "paced", "abort"};

struct options {
  enum mode mode;
  const char *url, *headers, *body;
  double connections, seconds, warmup, rate, frames, ramp, every, count, at_least;
};

struct conn {
  int fd;
  bool busy, in_head, close_after, counted, at_fault, ended;
  int status;
  size_t sent;
  int64_t started, active; // rate: started is when the request was due
  uint64_t bytes;
  struct body body;
  uint32_t next_frame;
  uint8_t end_matched, cut_length;
  char cut[MARKER]; // a marker of which the rest comes with the next read
  char *stash;      // a head of which the rest comes with the next read
  size_t stash_length;
};

// Counts in steps of less than 2 %, so that no measured value needs to be kept.
struct histogram {
  uint64_t count, max, steps[64 * 60];
  double sum;
};

// A body that has this in it is another one each time: so nobody can have seen it before.
#define NUMBER "#000000000000#"
enum { NUMBER_LENGTH = sizeof NUMBER - 1 };
static char *request_number;

static struct options options = {.at_least = 1};
static struct sockaddr_in target;
static struct text request;
static const char *end_mark;
static char inbox[INBOX];
static int poller;

static struct conn *conns, **idle; // rate: `idle` is the stack of those that wait for a request
static int conn_count, idle_count, opened, busy_count;
static uint32_t frames_expected;

static bool measuring, stopping;
static int64_t seen; // when the last read came back: the clock is asked once for each read, not for each answer
static int64_t began, measure_from, measure_until, last_counted;
static uint64_t launched, blocked_until; // rate and abort: how many were sent; rate: which had to wait

static uint64_t requests, errors, bytes_in, frames_in, lost, late, lagging, connects;
static char first_error[ERROR_LENGTH];
static struct histogram latency, first_frame, delay;

// ---- figures ----

static void record(struct histogram *h, int64_t ns) {
  uint64_t value = ns > 0 ? (uint64_t)ns : 0;
  unsigned shift = value < 128 ? 0 : 57 - (unsigned)__builtin_clzll(value);
  h->steps[64 * shift + (value >> shift)]++;
  h->count++;
  h->sum += (double)value;
  if (value > h->max) h->max = value;
}

static double quantile(const struct histogram *h, double share) {
  uint64_t wanted = (uint64_t)(share * (double)h->count + 0.5), before = 0;
  for (unsigned i = 0; i < sizeof h->steps / sizeof *h->steps; i++) {
    before += h->steps[i];
    if (before < wanted || before == 0) continue;
    unsigned shift = i < 128 ? 0 : i / 64 - 1;
    double value = (double)((uint64_t)(i - 64 * shift) << shift) + (double)((uint64_t)1 << shift) / 2;
    return (value < (double)h->max ? value : (double)h->max) / 1000;
  }
  return 0;
}

static void print_times(const struct histogram *h) {
  printf("\"p50\":%.1f,\"p90\":%.1f,\"p99\":%.1f,\"max\":%.1f,\"mean\":%.1f", quantile(h, 0.5), quantile(h, 0.9),
         quantile(h, 0.99), (double)h->max / 1000, h->count ? h->sum / (double)h->count / 1000 : 0);
}

static void print_string(const char *s) {
  putchar('"');
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\') printf("\\%c", c);
    else if (c < 32 || c > 126) printf("\\u%04x", c);
    else putchar(c);
  }
  putchar('"');
}

static double cpu_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

// ---- requests ----

__attribute__((format(printf, 1, 2))) static void count_error(const char *format, ...) {
  if (errors++) return;
  va_list args;
  va_start(args, format);
  vsnprintf(first_error, sizeof first_error, format, args);
  va_end(args);
}

// A request counts as one error, however many of its checks fail.
#define complain(c, ...)                                                                                               \
  do {                                                                                                                 \
    if (!(c)->at_fault) count_error(__VA_ARGS__);                                                                      \
    (c)->at_fault = true;                                                                                              \
  } while (0)

static bool checks_frames(void) { return options.mode == STREAM || options.mode == PACED; }

static void hang_up(struct conn *c) {
  if (c->fd >= 0) close(c->fd);
  c->fd = -1;
}

static void settle(struct conn *c) {
  c->busy = false;
  busy_count--;
  if (options.mode == RATE) idle[idle_count++] = c;
}

// The connection broke; it is opened again at the next tick, so that a dead server is not asked without pause.
static void give_up(struct conn *c, const char *why) {
  complain(c, "%s", why);
  if (checks_frames()) lost += frames_expected - c->next_frame;
  hang_up(c);
  settle(c);
}

static void push_out(struct conn *c) {
  while (c->sent < request.length) {
    ssize_t n = send(c->fd, request.at + c->sent, request.length - c->sent, MSG_NOSIGNAL);
    if (n >= 0) c->sent += (size_t)n;
    else if (errno == EAGAIN) return;
    // A server may answer before it has read everything; what it said is still to be read.
    else if (errno == EPIPE || errno == ECONNRESET) return;
    else return give_up(c, strerror(errno));
  }
}

static bool connect_up(struct conn *c) {
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (c->fd < 0) return false;
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
  // The port is chosen when the target is known, otherwise one port serves only one connection.
  setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &(int){1}, sizeof(int));
  struct sockaddr_in source = {.sin_family = AF_INET};
  source.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)(connects++ % SOURCES));
  if (bind(c->fd, (struct sockaddr *)&source, sizeof source) < 0) return false;
  if (connect(c->fd, (struct sockaddr *)&target, sizeof target) < 0 && errno != EINPROGRESS) return false;
  struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = c};
  return epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &event) == 0;
}

static void number_request(void) {
  static uint64_t numbered;
  if (!request_number) return;
  uint64_t left = ++numbered;
  for (char *digit = request_number + NUMBER_LENGTH - 2; digit > request_number; digit--, left /= 10)
    *digit = (char)('0' + left % 10);
}

static void begin(struct conn *c, int64_t started, bool counted) {
  c->busy = c->in_head = true;
  c->close_after = c->at_fault = c->ended = false;
  c->counted = counted;
  c->sent = c->stash_length = 0;
  number_request();
  c->started = started;
  c->active = seen;
  c->bytes = 0;
  c->next_frame = 0;
  c->end_matched = c->cut_length = 0;
  busy_count++;
  launched++;
  if (c->fd < 0 && !connect_up(c)) return give_up(c, strerror(errno));
  push_out(c);
}

static bool may_begin(void) {
  if (options.mode == ABORT) return launched < (uint64_t)options.count;
  return options.mode != RATE && !stopping;
}

// ---- answers ----

static void check_stream_end(struct conn *c) {
  if (c->next_frame < frames_expected) {
    lost += frames_expected - c->next_frame;
    complain(c, "stream ended after %u of %u frames", c->next_frame, frames_expected);
  }
  if (!c->ended) complain(c, "stream ended without %s", end_mark);
}

static void finish(struct conn *c) {
  if (c->status == 200 && checks_frames()) check_stream_end(c);
  if (options.mode == ABORT && c->next_frame == 0) complain(c, "stream ended before its first frame");
  if (c->bytes < (uint64_t)options.at_least) complain(c, "answer of only %llu bytes", (unsigned long long)c->bytes);
  if (!c->at_fault && (options.mode == RATE ? c->counted : measuring)) {
    requests++;
    bytes_in += c->bytes;
    record(&latency, seen - c->started);
    last_counted = seen;
  }
  if (c->close_after || c->sent < request.length || options.mode == ABORT) hang_up(c);
  settle(c);
  if (may_begin()) begin(c, seen, true);
}

static void take_marker(struct conn *c, const char *marker) {
  uint64_t frame, stamp;
  if (!read_digits(marker + 1, SEQUENCE_DIGITS, &frame) || marker[STAMP_AT - 1] != '.' || marker[MARKER - 1] != '~') {
    complain(c, "broken marker %.*s", MARKER, marker);
    return;
  }
  if (frame > c->next_frame) {
    lost += frame - c->next_frame;
    complain(c, "frame %llu came where %u was due", (unsigned long long)frame, c->next_frame);
  } else if (frame < c->next_frame) {
    complain(c, "frame %llu came again or too late, %u was due", (unsigned long long)frame, c->next_frame);
    return;
  }
  if (frames_expected && frame >= frames_expected) {
    complain(c, "frame %llu of a stream of %u", (unsigned long long)frame, frames_expected);
    return;
  }
  if (frame == 0) record(&first_frame, seen - c->started);
  c->next_frame = (uint32_t)frame + 1;
  if (!measuring) return;
  frames_in++;
  if (options.mode != PACED) return;
  if (read_digits(marker + STAMP_AT, STAMP_DIGITS, &stamp)) record(&delay, seen % STAMP_TURN - (int64_t)stamp);
  else complain(c, "broken marker %.*s", MARKER, marker);
}

// The first letter of an end mark comes only once in it, so after a mismatch only that letter can begin it anew.
static void look_for_end(struct conn *c, const char *at, const char *end) {
  for (; at < end && !c->ended; at++) {
    if (*at == end_mark[c->end_matched]) c->end_matched++;
    else c->end_matched = *at == end_mark[0];
    c->ended = end_mark[c->end_matched] == 0;
  }
}

static void scan(struct conn *c, const char *at, size_t length) {
  const char *end = at + length;
  if (c->cut_length) {
    size_t n = smaller((size_t)(MARKER - c->cut_length), length);
    memcpy(c->cut + c->cut_length, at, n);
    c->cut_length = (uint8_t)(c->cut_length + n);
    if (c->cut_length < MARKER) return;
    c->cut_length = 0;
    take_marker(c, c->cut);
    at += n;
  }
  for (const char *marker; (marker = memchr(at, '~', (size_t)(end - at))); at = marker + MARKER) {
    if (end - marker < MARKER) {
      c->cut_length = (uint8_t)(end - marker);
      memcpy(c->cut, marker, c->cut_length);
      return;
    }
    take_marker(c, marker);
  }
  // Only behind the last frame, so that the many bytes before it are looked at just once.
  if (c->next_frame >= frames_expected) look_for_end(c, at, end);
}

static void parse_status(struct conn *c, const char *head, const char *head_end, const char *rest, const char *end) {
  struct head parsed = parse_head(head, head_end);
  uint64_t status;
  if (head_end - head < 12 || memcmp(head, "HTTP/1.", 7) != 0 || !read_digits(head + 9, 3, &status)) {
    parsed.bad = true;
    status = 0;
  }
  c->status = (int)status;
  if (status >= 100 && status < 200) return; // an announcement: the head of the answer is still to come
  c->in_head = false;
  c->close_after = parsed.close || head[7] == '0';
  c->body = body_of(&parsed);
  if (!parsed.chunked && parsed.length < 0) c->body.state = BODY_BAD;
  if (status != 200) complain(c, "status %d: %.*s", c->status, (int)smaller((size_t)(end - rest), 160), rest);
}

// Takes the head off `at`. Returns where the body begins, `end` if the head goes on, NULL if it is too long.
static const char *take_head(struct conn *c, const char *at, const char *end) {
  const char *head_end = c->stash_length ? NULL : end_of_head(at, end);
  if (head_end) {
    parse_status(c, at, head_end, head_end, end);
    return head_end;
  }
  if (!c->stash) c->stash = must_alloc(HEAD_LIMIT);
  size_t before = c->stash_length, n = smaller((size_t)(end - at), HEAD_LIMIT - before);
  memcpy(c->stash + before, at, n);
  c->stash_length += n;
  head_end = end_of_head(c->stash, c->stash + c->stash_length);
  if (!head_end) return c->stash_length < HEAD_LIMIT ? end : NULL;
  const char *body = at + ((size_t)(head_end - c->stash) - before);
  c->stash_length = 0;
  parse_status(c, c->stash, head_end, body, end);
  return body;
}

static void feed(struct conn *c, const char *at, const char *end) {
  while (c->in_head && at < end) {
    at = take_head(c, at, end);
    if (!at) return give_up(c, "head too long");
  }
  if (c->in_head) return;
  while (at < end && c->body.state > BODY_BAD) {
    const char *data;
    size_t length;
    at = body_step(&c->body, at, end, &data, &length);
    c->bytes += length;
    if (options.mode == PLAIN || options.mode == RATE || c->status != 200) continue;
    scan(c, data, length);
    if (options.mode == ABORT && c->next_frame > 0) return finish(c);
  }
  if (c->body.state == BODY_BAD) return give_up(c, "answer without a length or with broken chunks");
  if (c->body.state != BODY_DONE) return;
  if (at < end) return give_up(c, "bytes behind the end of an answer");
  finish(c);
}

static void serve(struct conn *c, uint32_t events) {
  bool hung_up = events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
  if (c->busy && c->fd >= 0 && c->sent < request.length) push_out(c);
  while (c->fd >= 0) {
    int fd = c->fd;
    ssize_t n = recv(fd, inbox, INBOX, 0);
    if (n < 0 && errno == EAGAIN) return;
    const char *why = n < 0 ? strerror(errno) : "connection closed before the answer was whole";
    seen = now_ns();
    if (n <= 0 && !c->busy) return hang_up(c); // between two requests it may
    if (n <= 0) return give_up(c, why);
    c->active = seen;
    if (!c->busy) {
      count_error("bytes without a request");
      return hang_up(c);
    }
    feed(c, inbox, inbox + n);
    // Fewer bytes than asked for: the socket is empty and will say when it is not. Saves a read for each answer.
    if (c->fd != fd || (n < INBOX && !hung_up)) return;
  }
}

// ---- the clock ----

static void look_after(int64_t now) {
  for (int i = 0; i < opened; i++) {
    struct conn *c = &conns[i];
    if (c->busy && now - c->active > PATIENCE) give_up(c, "no byte for 30 s");
    else if (!c->busy && may_begin()) begin(c, now, true);
  }
}

static int64_t due_at(uint64_t index) { return began + (int64_t)((double)index * 1e9 / options.rate); }

// Sends the requests that have come due, as long as a connection is free. Returns when to look again.
static int64_t send_due(int64_t now) {
  for (int64_t due; (due = due_at(launched)) < measure_until;) {
    if (due > now) return due;
    if (now > measure_until + PATIENCE) {
      count_error("not sent within 30 s, no connection was free");
      launched++;
      continue;
    }
    if (!idle_count) {
      if (launched >= blocked_until) blocked_until = (uint64_t)((double)(now - began) * options.rate / 1e9) + 1;
      return now + SECOND_NS; // a connection that gets free wakes us
    }
    // Late is what waited for a connection; what waited for this program itself is counted apart.
    bool counted = due >= measure_from;
    if (counted && now - due > LATE) *(launched < blocked_until ? &late : &lagging) += 1;
    begin(idle[--idle_count], due, counted);
  }
  return now + SECOND_NS;
}

// Paced: opens the streams that belong to this part of the ramp. Returns when the next one is due.
static int64_t open_ramp(int64_t now) {
  double pause = options.ramp * 1e9 / conn_count;
  for (; opened < conn_count; opened++) {
    int64_t due = began + (int64_t)(pause * opened);
    if (due > now) return due;
    begin(&conns[opened], now, true);
  }
  return now + SECOND_NS;
}

static bool is_over(void) {
  if (options.mode == ABORT) return launched >= (uint64_t)options.count && busy_count == 0;
  if (options.mode == PACED) return stopping;
  if (options.mode == RATE && due_at(launched) < measure_until) return false;
  return stopping && busy_count == 0;
}

static void run(double *seconds, double *cpu) {
  struct epoll_event events[EVENTS];
  int64_t next_tick = began + TICK, next_due = began, started = 0;
  double cpu_before = 0;
  seen = began;
  while (!is_over()) {
    int64_t now = now_ns(), wake = next_due < next_tick ? next_due : next_tick;
    int64_t wait = wake > now ? wake - now : 0;
    struct timespec timeout = {.tv_sec = wait / SECOND_NS, .tv_nsec = wait % SECOND_NS};
    int n = epoll_pwait2(poller, events, EVENTS, &timeout, NULL);
    seen = now = now_ns();
    if (!measuring && !stopping && now >= measure_from) {
      measuring = true;
      started = now;
      cpu_before = cpu_seconds();
    } else if (measuring && now >= measure_until && options.mode != ABORT) {
      measuring = false;
      stopping = true;
      *seconds = (double)(now - started) / 1e9;
      *cpu = cpu_seconds() - cpu_before;
    }
    for (int i = 0; i < n; i++) serve(events[i].data.ptr, events[i].events);
    if (now >= next_tick) {
      look_after(now);
      next_tick = now + TICK;
    }
    next_due = now + SECOND_NS;
    if (options.mode == RATE) next_due = send_due(now_ns());
    if (options.mode == PACED && !stopping) next_due = open_ramp(now);
  }
  int64_t end = options.mode == RATE ? last_counted : now_ns();
  if (options.mode != RATE && options.mode != ABORT) return;
  // These two end with their last answer, however long it takes.
  *seconds = (double)(end > started ? end - started : 0) / 1e9;
  *cpu = cpu_seconds() - cpu_before;
}

// ---- options ----

static struct text read_file(const char *path) {
  struct text content = {0};
  char block[65536];
  FILE *file = path ? fopen(path, "rb") : NULL;
  if (!file) die("cannot read %s", path ? path : "the file of --headers or --body");
  for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;) add_bytes(&content, block, n);
  fclose(file);
  return content;
}

static void lay_out_request(const char *authority, int authority_length, const char *path) {
  struct text headers = read_file(options.headers), body = read_file(options.body);
  add(&request, "POST %s HTTP/1.1\r\nhost: %.*s\r\n", path, authority_length, authority);
  const char *end = headers.at + headers.length;
  for (const char *line = headers.at; line < end;) {
    const char *line_end = memchr(line, '\n', (size_t)(end - line));
    if (!line_end) line_end = end;
    size_t length = (size_t)(line_end - line);
    while (length && line[length - 1] == '\r') length--;
    if (named(line, length, "host", 4) || named(line, length, "content-length", 14))
      die("host and content-length are written by load itself");
    if (length) {
      add_bytes(&request, line, length);
      add(&request, "\r\n");
    }
    line = line_end + 1;
  }
  add(&request, "content-length: %zu\r\n\r\n", body.length);
  add_bytes(&request, body.at, body.length);
  request_number = memmem(request.at, request.length, NUMBER, NUMBER_LENGTH);
}

static void aim(void) {
  if (!options.url || strncmp(options.url, "http://", 7) != 0) die("--url must begin with http://");
  const char *authority = options.url + 7, *path = strchr(authority, '/'), *colon = strchr(authority, ':');
  if (!path || !colon || colon > path) die("--url must be http://address:port/path");
  char address[64] = "";
  memcpy(address, authority, smaller((size_t)(colon - authority), sizeof address - 1));
  if (strcmp(address, "localhost") == 0) strcpy(address, "127.0.0.1");
  target.sin_family = AF_INET;
  target.sin_port = htons((uint16_t)atoi(colon + 1));
  if (inet_pton(AF_INET, address, &target.sin_addr) != 1) die("%s is no IPv4 address", address);
  // The end mark of the protocol that was asked for: one that was not translated does not pass.
  end_mark = strstr(path, "/messages") ? "message_stop" : "[DONE]";
  lay_out_request(authority, (int)(path - authority), path);
}

static void read_options(int count, char **args) {
  const struct {
    const char *name;
    const char **text;
    double *number;
  } known[] = {
      {"--url", &options.url, NULL},           {"--headers", &options.headers, NULL},
      {"--body", &options.body, NULL},         {"--connections", NULL, &options.connections},
      {"--streams", NULL, &options.connections}, {"--seconds", NULL, &options.seconds},
      {"--warmup", NULL, &options.warmup},     {"--rate", NULL, &options.rate},
      {"--frames", NULL, &options.frames},     {"--ramp", NULL, &options.ramp},
      {"--every", NULL, &options.every},       {"--count", NULL, &options.count},
      {"--at-least", NULL, &options.at_least},
  };
  enum { KNOWN = sizeof known / sizeof *known, MODE_COUNT = sizeof MODES / sizeof *MODES };
  unsigned mode = 0;
  while (count > 1 && mode < MODE_COUNT && strcmp(args[1], MODES[mode]) != 0) mode++;
  if (count < 2 || mode == MODE_COUNT)
    die("usage: load plain|rate|stream|paced|abort --url URL --headers FILE --body FILE …");
  options.mode = (enum mode)mode;
  for (int i = 2; i < count; i += 2) {
    unsigned k = 0;
    while (k < KNOWN && strcmp(args[i], known[k].name) != 0) k++;
    if (k == KNOWN || i + 1 == count) die("unknown option, or one without a value: %s", args[i]);
    if (known[k].text) *known[k].text = args[i + 1];
    else *known[k].number = atof(args[i + 1]);
  }
  if (options.connections < 1) die("--connections or --streams is missing");
  if (options.mode != ABORT && options.seconds <= 0) die("--seconds is missing");
  if (options.mode == ABORT && options.count < 1) die("--count is missing");
  if (options.mode == RATE && options.rate <= 0) die("--rate is missing");
  if (checks_frames() && options.frames < 1) die("--frames is missing");
  if (options.mode == PACED && options.every <= 0) die("--every is missing");
}

static void print_result(double seconds, double cpu) {
  printf("{\"mode\":\"%s\",\"seconds\":%.4f,\"cpuSeconds\":%.4f,\"requests\":%llu,\"errors\":%llu,\"firstError\":",
         MODES[options.mode], seconds, cpu, (unsigned long long)requests, (unsigned long long)errors);
  print_string(first_error);
  printf(",\"bytes\":%llu,\"connects\":%llu,", (unsigned long long)bytes_in, (unsigned long long)connects);
  if (options.mode == RATE)
    printf("\"late\":%llu,\"lagging\":%llu,", (unsigned long long)late, (unsigned long long)lagging);
  if (checks_frames()) {
    printf("\"streams\":%llu,\"frames\":%llu,\"lost\":%llu,\"firstFrame\":{", (unsigned long long)requests,
           (unsigned long long)frames_in, (unsigned long long)lost);
    print_times(&first_frame);
    printf("},");
  }
  if (options.mode == PACED) {
    int open = 0;
    for (int i = 0; i < opened; i++) open += conns[i].busy && !conns[i].in_head && conns[i].status == 200;
    double expected = options.connections * seconds * 1000 / options.every;
    printf("\"expectedFrames\":%.0f,\"open\":%d,\"delay\":{", expected, open);
    print_times(&delay);
    printf("},");
  }
  print_times(&latency);
  printf("}\n");
}

int main(int count, char **args) {
  read_options(count, args);
  signal(SIGPIPE, SIG_IGN);
  allow_many_sockets();
  prctl(PR_SET_TIMERSLACK, 1UL); // wake when a request is due, not up to 50 µs later
  aim();
  poller = epoll_create1(EPOLL_CLOEXEC);
  conn_count = (int)options.connections;
  conns = must_alloc((size_t)conn_count * sizeof *conns);
  idle = must_alloc((size_t)conn_count * sizeof *idle);
  frames_expected = checks_frames() ? (uint32_t)options.frames : 0;
  for (int i = 0; i < conn_count; i++) conns[i].fd = -1;

  seen = began = now_ns();
  measure_from = began + (int64_t)((options.ramp + options.warmup) * 1e9);
  measure_until = measure_from + (int64_t)(options.seconds * 1e9);
  if (options.mode != PACED) opened = conn_count;
  for (int i = 0; i < opened; i++) {
    // In an open loop nobody waits for a connection to be made: they are there before the first request is due.
    if (options.mode == RATE && !connect_up(idle[idle_count++] = &conns[i])) hang_up(&conns[i]);
    else if (may_begin()) begin(&conns[i], began, true);
  }
  double seconds = 0, cpu = 0;
  run(&seconds, &cpu);
  print_result(seconds, cpu);
  return 0;
}
