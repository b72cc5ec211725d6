// A mock upstream that costs next to nothing: what it answers is laid out beforehand, so that a request is one read
// and one write. The first path segment says what is answered, the end of the path in which protocol:
//   /whole-<bytes>/v1/…        a JSON answer of about that many bytes
//   /burst-<frames>/v1/…       a stream, all frames at once
//   /paced-<frames>-<ms>/v1/…  a stream, one frame every <ms> milliseconds
// Usage: mock --port P    (0: any free port; prints `listening <port>`)
#include "http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  BODY_LIMIT = 32 * 1024 * 1024,
  INBOX = 64 * 1024,
  EVENTS = 512,
  BEHAVIOURS = 64,
  FRAMES_LIMIT = 1000000,
  SLOTS = 4096, // of the timer wheel, one for each millisecond
  OUTBOX = HEAD_LIMIT,
};

enum protocol { CHAT, MESSAGES };
enum kind { WHOLE, BURST, PACED };

struct behaviour {
  char segment[48]; // what it is found by: the first path segment and the protocol
  size_t segment_length;
  enum protocol protocol;
  enum kind kind;
  uint64_t frames;
  int64_t every;
  struct text answer;  // whole and burst: everything that is sent
  struct text opening; // paced: the head and what comes before the first delta
  struct text delta;   // paced: one delta with its chunk header; the marker is written anew each time
  struct text ending;  // paced: what comes after the last delta
  size_t marker_at;
};

struct conn {
  int fd;
  bool answering, close_after, unread, hung_up, in_body;
  struct body body;
  uint64_t body_bytes;
  const struct behaviour *behaviour;
  const char *out; // what the socket has not taken yet
  size_t out_length;
  char *stash; // a head cut by a read, or what is left of a paced write: never both
  size_t stash_length;
  uint64_t frame; // paced
  int64_t due;
  bool delayed;
  struct conn *next, *before; // in its slot of the wheel, or in the list of unused ones
};

static int poller;
static char inbox[INBOX];
static struct behaviour behaviours[BEHAVIOURS];
static int behaviour_count;
static struct conn wheel[SLOTS], *unused;
static int64_t wheel_at; // the millisecond that is next to be looked at
static int paced_streams;

static const char NOT_FOUND[] = "HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 41\r\n\r\n"
                                "{\"error\":{\"message\":\"unknown behaviour\"}}";
static const char STREAM_HEAD[] = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
                                  "cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";

// ---- answers ----

static void add_chunk(struct text *to, const char *event) {
  add(to, "%zx\r\n", strlen(event));
  add(to, "%s\r\n", event);
}

static void add_chat_event(struct text *to, const char *choices, const char *usage) {
  char event[1024];
  snprintf(event, sizeof event,
           "data: {\"id\":\"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT\",\"object\":\"chat.completion.chunk\","
           "\"created\":1741569952,\"model\":\"bench-model\",\"system_fingerprint\":\"fp_44709d6fcb\","
           "\"choices\":[%s]%s}\n\n",
           choices, usage);
  add_chunk(to, event);
}

static void add_messages_event(struct text *to, const char *type, const char *rest) {
  char event[1024];
  snprintf(event, sizeof event, "event: %s\ndata: {\"type\":\"%s\"%s}\n\n", type, type, rest);
  add_chunk(to, event);
}

static void add_start(struct text *to, enum protocol protocol) {
  if (protocol == CHAT) {
    add_chat_event(to,
                   "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"refusal\":null},"
                   "\"logprobs\":null,\"finish_reason\":null}",
                   "");
    return;
  }
  add_messages_event(to, "message_start",
                     ",\"message\":{\"id\":\"msg_014p7gG3wDgGV9EUtLvnow3U\",\"type\":\"message\","
                     "\"role\":\"assistant\",\"model\":\"bench-model\",\"content\":[],"
                     "\"stop_reason\":null,\"stop_sequence\":null,"
                     "\"usage\":{\"input_tokens\":200,\"output_tokens\":1}}");
  add_messages_event(to, "content_block_start", ",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}");
}

static void add_delta(struct text *to, enum protocol protocol, uint64_t frame) {
  char marker[MARKER + 2] = "~000000.0000000000000000~ ", inside[256];
  write_digits(marker + 1, SEQUENCE_DIGITS, frame);
  if (protocol == CHAT) {
    snprintf(inside, sizeof inside,
             "{\"index\":0,\"delta\":{\"content\":\"%s\"},\"logprobs\":null,\"finish_reason\":null}", marker);
    add_chat_event(to, inside, "");
  } else {
    snprintf(inside, sizeof inside, ",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"%s\"}", marker);
    add_messages_event(to, "content_block_delta", inside);
  }
}

static void add_end(struct text *to, enum protocol protocol, uint64_t frames) {
  char inside[256];
  if (protocol == CHAT) {
    add_chat_event(to, "{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"stop\"}", "");
    snprintf(inside, sizeof inside,
             ",\"usage\":{\"prompt_tokens\":200,\"completion_tokens\":%llu,\"total_tokens\":%llu}",
             (unsigned long long)frames, (unsigned long long)frames + 200);
    add_chat_event(to, "", inside);
    add_chunk(to, "data: [DONE]\n\n");
  } else {
    add_messages_event(to, "content_block_stop", ",\"index\":0");
    snprintf(inside, sizeof inside,
             ",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":%llu}",
             (unsigned long long)frames);
    add_messages_event(to, "message_delta", inside);
    add_messages_event(to, "message_stop", "");
  }
  add(to, "0\r\n\r\n");
}

static void lay_out_whole(struct behaviour *b, uint64_t bytes) {
  static const char WORDS[] = "The quick answer is that it depends on what you measure and on where you stand. ";
  const char *before, *after;
  if (b->protocol == CHAT) {
    before = "{\"id\":\"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT\",\"object\":\"chat.completion\","
             "\"created\":1741569952,\"model\":\"bench-model\",\"choices\":[{\"index\":0,\"message\":"
             "{\"role\":\"assistant\",\"content\":\"";
    after = "\",\"refusal\":null},\"logprobs\":null,\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":200,"
            "\"completion_tokens\":150,\"total_tokens\":350},\"system_fingerprint\":\"fp_44709d6fcb\"}";
  } else {
    before = "{\"id\":\"msg_014p7gG3wDgGV9EUtLvnow3U\",\"type\":\"message\",\"role\":\"assistant\","
             "\"model\":\"bench-model\",\"content\":[{\"type\":\"text\",\"text\":\"";
    after = "\"}],\"stop_reason\":\"end_turn\",\"stop_sequence\":null,"
            "\"usage\":{\"input_tokens\":200,\"output_tokens\":150}}";
  }
  size_t frame = strlen(before) + strlen(after), words = bytes > frame ? bytes - frame : 1;
  add(&b->answer, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n\r\n", frame + words);
  add(&b->answer, "%s", before);
  for (size_t left = words; left > 0;) {
    size_t n = smaller(left, sizeof WORDS - 1);
    add_bytes(&b->answer, WORDS, n);
    left -= n;
  }
  add(&b->answer, "%s", after);
}

static void lay_out_burst(struct behaviour *b) {
  add(&b->answer, "%s", STREAM_HEAD);
  add_start(&b->answer, b->protocol);
  for (uint64_t frame = 0; frame < b->frames; frame++) add_delta(&b->answer, b->protocol, frame);
  add_end(&b->answer, b->protocol, b->frames);
}

static void lay_out_paced(struct behaviour *b) {
  add(&b->opening, "%s", STREAM_HEAD);
  add_start(&b->opening, b->protocol);
  add_delta(&b->delta, b->protocol, 0);
  add_end(&b->ending, b->protocol, b->frames);
  b->marker_at = (size_t)((const char *)memchr(b->delta.at, '~', b->delta.length) - b->delta.at);
}

static bool lay_out(struct behaviour *b) {
  unsigned long long n, ms;
  int used = 0, length = (int)b->segment_length;
  if (sscanf(b->segment, "whole-%llu%n", &n, &used) == 1 && used == length && n <= BODY_LIMIT) {
    b->kind = WHOLE;
    lay_out_whole(b, n);
  } else if (sscanf(b->segment, "burst-%llu%n", &n, &used) == 1 && used == length && n && n <= FRAMES_LIMIT) {
    b->kind = BURST;
    b->frames = n;
    lay_out_burst(b);
  } else if (sscanf(b->segment, "paced-%llu-%llu%n", &n, &ms, &used) == 2 && used == length && n &&
             n <= FRAMES_LIMIT && ms && ms <= 60000) {
    b->kind = PACED;
    b->frames = n;
    b->every = (int64_t)ms * MS_NS;
    lay_out_paced(b);
  } else {
    return false;
  }
  return true;
}

static bool ends_with(const char *from, size_t length, const char *end) {
  size_t n = strlen(end);
  return length >= n && memcmp(from + length - n, end, n) == 0;
}

// Finds what `POST /<segment>/…/<protocol> HTTP/1.1` asks for; lays it out at its first use.
static const struct behaviour *behaviour_for(const char *head, const char *end) {
  const char *line_end = memchr(head, '\r', (size_t)(end - head));
  const char *path = memchr(head, ' ', (size_t)(line_end - head));
  if (!path || *++path != '/') return NULL;
  const char *path_end = memchr(path, ' ', (size_t)(line_end - path));
  if (!path_end) return NULL;
  const char *query = memchr(path, '?', (size_t)(path_end - path));
  if (query) path_end = query;
  const char *segment = path + 1, *segment_end = memchr(segment, '/', (size_t)(path_end - segment));
  if (!segment_end) return NULL;
  size_t rest = (size_t)(path_end - segment_end), length = (size_t)(segment_end - segment);
  enum protocol protocol;
  if (ends_with(segment_end, rest, "/chat/completions")) protocol = CHAT;
  else if (ends_with(segment_end, rest, "/messages")) protocol = MESSAGES;
  else return NULL;

  for (int i = 0; i < behaviour_count; i++) {
    const struct behaviour *b = &behaviours[i];
    if (b->protocol == protocol && b->segment_length == length && memcmp(b->segment, segment, length) == 0) return b;
  }
  struct behaviour *b = &behaviours[behaviour_count];
  if (behaviour_count == BEHAVIOURS || length >= sizeof b->segment) return NULL;
  *b = (struct behaviour){.protocol = protocol, .segment_length = length};
  memcpy(b->segment, segment, length);
  if (!lay_out(b)) return NULL;
  behaviour_count++;
  return b;
}

// ---- connections ----

static void leave_wheel(struct conn *c) {
  if (!c->next) return;
  c->before->next = c->next;
  c->next->before = c->before;
  c->next = c->before = NULL;
}

// Into the slot of the first millisecond that is not before it is due; a turn too early is noticed there.
static void enter_wheel(struct conn *c) {
  int64_t tick = (c->due + MS_NS - 1) / MS_NS;
  struct conn *slot = &wheel[(tick < wheel_at ? wheel_at : tick) % SLOTS];
  c->next = slot;
  c->before = slot->before;
  slot->before->next = c;
  slot->before = c;
}

static bool is_paced(const struct conn *c) { return c->answering && c->behaviour && c->behaviour->kind == PACED; }

static void drop(struct conn *c) {
  if (is_paced(c)) paced_streams--;
  leave_wheel(c);
  close(c->fd);
  char *stash = c->stash;
  *c = (struct conn){.fd = -1, .stash = stash, .next = unused};
  unused = c;
}

static void stash(struct conn *c, const char *bytes, size_t n) {
  if (!c->stash) c->stash = must_alloc(HEAD_LIMIT);
  memcpy(c->stash + c->stash_length, bytes, n);
  c->stash_length += n;
}

// Writes what is waiting. False: the connection is gone.
static bool flush(struct conn *c) {
  while (c->out_length > 0) {
    ssize_t n = send(c->fd, c->out, c->out_length, MSG_NOSIGNAL);
    if (n < 0 && errno == EAGAIN) return true;
    if (n < 0) return false;
    c->out += n;
    c->out_length -= (size_t)n;
  }
  return true;
}

// False: the connection ends here.
static bool answer_done(struct conn *c) {
  if (is_paced(c)) paced_streams--;
  c->answering = false;
  c->stash_length = 0;
  return !c->close_after;
}

// Sends every frame that is due by now, in one write. False: the connection ends here.
static bool send_due_frames(struct conn *c, int64_t now) {
  static char outbox[OUTBOX];
  const struct behaviour *b = c->behaviour;
  size_t length = 0;
  if (c->frame == 0 && b->opening.length) {
    memcpy(outbox, b->opening.at, b->opening.length);
    length = b->opening.length;
  }
  for (; c->due <= now && c->frame < b->frames && length + b->delta.length <= OUTBOX; c->frame++, c->due += b->every) {
    char *frame = memcpy(outbox + length, b->delta.at, b->delta.length), *marker = frame + b->marker_at;
    // A frame the reader had no room for bears the time at which it should have left, or its delay would not show.
    int64_t stamp = c->delayed ? c->due : now_ns();
    write_digits(marker + 1, SEQUENCE_DIGITS, c->frame);
    write_digits(marker + STAMP_AT, STAMP_DIGITS, (uint64_t)stamp);
    length += b->delta.length;
  }
  // The end comes one pace after the last delta, so that a stream of n frames lasts n paces.
  bool ended = c->frame == b->frames && c->due <= now && length + b->ending.length <= OUTBOX;
  if (ended) {
    memcpy(outbox + length, b->ending.at, b->ending.length);
    length += b->ending.length;
    c->frame++;
  }
  c->out = outbox;
  c->out_length = length;
  c->delayed = c->delayed && c->due <= now; // the outbox was too small for all of them
  if (!flush(c)) return false;
  if (c->out_length > 0) {
    c->delayed = true;
    c->stash_length = 0;
    stash(c, c->out, c->out_length);
    c->out = c->stash;
    return true; // goes on when the socket takes more
  }
  if (ended) return answer_done(c);
  enter_wheel(c);
  return true;
}

static bool answer(struct conn *c) {
  c->answering = true;
  if (!c->behaviour) {
    c->out = NOT_FOUND;
    c->out_length = sizeof NOT_FOUND - 1;
  } else if (c->behaviour->kind == PACED) {
    paced_streams++;
    c->frame = 0;
    c->due = now_ns();
    c->delayed = false;
    return send_due_frames(c, c->due);
  } else {
    c->out = c->behaviour->answer.at;
    c->out_length = c->behaviour->answer.length;
  }
  if (!flush(c)) return false;
  return c->out_length > 0 || answer_done(c);
}

// The socket takes bytes again. False: the connection ends here.
static bool go_on(struct conn *c) {
  if (c->out_length == 0) return true;
  if (!flush(c)) return false;
  if (c->out_length > 0) return true;
  if (!is_paced(c)) return answer_done(c);
  if (c->frame > c->behaviour->frames) return answer_done(c);
  return send_due_frames(c, now_ns());
}

// Takes the head off `at`. Returns where the body begins, `end` if the head goes on, NULL if it is none.
static const char *take_head(struct conn *c, const char *at, const char *end) {
  const char *head = at, *head_end, *body;
  if (c->stash_length == 0) {
    body = head_end = end_of_head(at, end);
  } else {
    size_t before = c->stash_length;
    stash(c, at, smaller((size_t)(end - at), HEAD_LIMIT - before));
    head = c->stash;
    head_end = end_of_head(head, head + c->stash_length);
    body = head_end ? at + ((size_t)(head_end - head) - before) : NULL;
    if (!head_end) return c->stash_length < HEAD_LIMIT ? end : NULL;
  }
  if (!head_end) {
    if (end - at >= HEAD_LIMIT) return NULL;
    stash(c, at, (size_t)(end - at));
    return end;
  }
  struct head parsed = parse_head(head, head_end);
  c->behaviour = behaviour_for(head, head_end);
  c->body = body_of(&parsed);
  c->close_after = parsed.close;
  c->body_bytes = 0;
  c->stash_length = 0;
  c->in_body = true;
  return parsed.length > BODY_LIMIT ? NULL : body;
}

// False: the connection ends here.
static bool take(struct conn *c, const char *at, const char *end) {
  while (at < end) {
    if (!c->in_body) {
      at = take_head(c, at, end);
      if (!at) return false;
      if (!c->in_body) return true;
    }
    while (at < end && c->body.state > BODY_BAD) {
      const char *data;
      size_t length;
      at = body_step(&c->body, at, end, &data, &length);
      c->body_bytes += length;
    }
    if (c->body.state == BODY_BAD || c->body_bytes > BODY_LIMIT) return false;
    if (c->body.state != BODY_DONE) return true;
    if (at < end) return false; // a second request before the first is answered: no proxy under test does that
    c->in_body = false;
    return answer(c);
  }
  return true;
}

// Reads until there is nothing left. False: the connection ends here.
static bool receive(struct conn *c) {
  while (!c->answering) {
    bool skip = c->in_body && c->body.state == BODY_LENGTH;
    // With MSG_TRUNC the kernel throws the bytes of a long prompt away instead of copying them here.
    size_t room = skip ? c->body.left : INBOX;
    ssize_t n = recv(c->fd, skip ? NULL : inbox, room, skip ? MSG_TRUNC : 0);
    if (n < 0 && errno == EAGAIN) {
      c->unread = false;
      return true;
    }
    if (n <= 0) return false;
    if (skip) {
      c->body.left -= (size_t)n;
      if (c->body.left > 0) continue;
      c->body.state = BODY_DONE;
      c->in_body = false;
      if (!answer(c)) return false;
    } else if (!take(c, inbox, inbox + n)) {
      return false;
    }
    // Fewer bytes than asked for: the socket is empty and will say when it is not. Saves a read for each request.
    if ((size_t)n < room && !c->hung_up) {
      c->unread = false;
      return true;
    }
  }
  return true;
}

static bool serve(struct conn *c, uint32_t events) {
  if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) c->hung_up = true;
  if (events & EPOLLIN) c->unread = true;
  if (c->answering && c->hung_up) return false; // it left in the middle
  if (c->answering && (events & EPOLLOUT) && !go_on(c)) return false;
  return c->answering || !(c->unread || c->hung_up) || receive(c);
}

static void welcome(int listener) {
  for (;;) {
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    struct conn *c = unused;
    if (c) unused = c->next;
    else c = must_alloc(sizeof *c);
    *c = (struct conn){.fd = fd, .stash = c->stash};
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = c};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) < 0) die("epoll_ctl: %s", strerror(errno));
  }
}

// Fires what has come due, slot by slot.
static void turn_wheel(int64_t now) {
  while (wheel_at <= now / MS_NS) {
    // Moved on first: what is still due when its turn is over must go into a slot that is yet to come.
    struct conn *slot = &wheel[wheel_at++ % SLOTS];
    // Those of a later turn go back into this slot, so only those that are in it now are looked at.
    struct conn *last = slot->before;
    if (last == slot) continue;
    for (bool more = true; more;) {
      struct conn *c = slot->next;
      more = c != last;
      leave_wheel(c);
      if (c->due > now) enter_wheel(c);
      else if (!send_due_frames(c, now)) drop(c);
    }
  }
}

static int listen_on(int port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 65535) < 0)
    die("port %d: %s", port, strerror(errno));
  getsockname(fd, (struct sockaddr *)&address, &size);
  printf("listening %d\n", ntohs(address.sin_port));
  fflush(stdout);
  return fd;
}

int main(int count, char **args) {
  if (count != 3 || strcmp(args[1], "--port") != 0) die("usage: mock --port P");
  signal(SIGPIPE, SIG_IGN);
  allow_many_sockets();
  for (int i = 0; i < SLOTS; i++) wheel[i].next = wheel[i].before = &wheel[i];
  poller = epoll_create1(EPOLL_CLOEXEC);
  int listener = listen_on(atoi(args[2]));
  struct epoll_event event = {.events = EPOLLIN}, events[EVENTS];
  epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);

  for (;;) {
    int n = epoll_wait(poller, events, EVENTS, paced_streams ? 1 : -1);
    // With no stream there is nothing in the wheel: it starts again at now instead of turning through the pause.
    if (!paced_streams) wheel_at = now_ns() / MS_NS;
    for (int i = 0; i < n; i++) {
      struct conn *c = events[i].data.ptr;
      if (!c) welcome(listener);
      else if (!serve(c, events[i].events)) drop(c);
    }
    if (paced_streams) turn_wheel(now_ns());
  }
}
