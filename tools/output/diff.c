// SPDX-License-Identifier: GPL-2.0
/*
 * diff.c - the stacks of two records side by side: plain text, folded, JSON
 *
 * Addresses change from one boot to the next, so stacks are equal if their frames have equal names.
 * A frame without a name equals no frame of another load of the module.
 */
#include <stdlib.h>
#include <string.h>
#include "output/files.h"

#define GONE_STACKS	"(stacks that are gone)"

enum change { EQUAL, NEW, GONE, MORE, FEWER, CHANGES };

static const char *const change_name[CHANGES] = {
	[EQUAL] = "equal", [NEW] = "new", [GONE] = "gone", [MORE] = "more", [FEWER] = "fewer",
};

static bool same_build(const struct record *a, const struct record *b)
{
	return a->have_info && b->have_info && !strcmp(a->info.release, b->info.release) &&
	       !strcmp(a->info.kernel_version, b->info.kernel_version);
}

/* Words of folded stacks are the user's, except a kernel's address, which is of an unknown load */
static bool is_nameless(const struct stack *stack, const char *text)
{
	return !strncmp(text, "0x", 2) &&
	       (!stack->given || (strspn(&text[2], "0123456789abcdef") == 16 && !text[2 + 16]));
}

/*
 * Print a frame of the record @side, without its offset if @folded or if the builds differ; in the
 * latter case with " [module]" only in text for people.
 */
static void print_frame(const struct diff *d, const struct stack *stack, int side, unsigned int i,
			bool folded, FILE *f)
{
	const struct record *before = d->side[BEFORE]->record, *after = d->side[AFTER]->record;
	bool same_load = before->have_info && before->instance == after->instance;
	const struct frame *frame = &stack->frame[i];

	if (is_nameless(stack, frame->text) && !same_load)
		fprintf(f, "%s (%s)", frame->text, side == BEFORE ? "before" : "after");
	else if (d->same_build && !folded)
		fputs(frame->text, f);
	else
		fprintf(f, FRAME_SHORT,
			FRAME_IN_SHORT(frame, folded ? FRAME_FOLDED : FRAME_FOR_PEOPLE));
}

/* Return the frames, innermost first, one per line, after @indent; the caller frees the text */
static char *stack_text(const struct diff *d, const struct stack *stack, int side, bool folded,
			const char *indent)
{
	char *text;
	size_t len;
	FILE *f = text_open(&text, &len);
	unsigned int i;

	for (i = 0; i < stack->named; i++) {
		fputs(indent, f);
		print_frame(d, stack, side, i, folded, f);
		putc('\n', f);
	}
	if (stack->cut)
		fprintf(f, "%s%s\n", indent, FRAMES_CUT);
	if (stack->gone)
		fprintf(f, "%s%s\n", indent, GONE_STACKS);
	text_close(f);
	return text;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct diff_stack *)a)->text, ((const struct diff_stack *)b)->text);
}

static double share(const struct diff *d, u64 events, int side)
{
	return output_percent(events, d->events[side]);
}

/* With --percent: by how many points a stack's share grew */
static double share_change(const struct diff *d, const struct diff_stack *s)
{
	return share(d, s->events[AFTER], AFTER) - share(d, s->events[BEFORE], BEFORE);
}

/* Without: by how many events, more or fewer */
static u64 events_change(const struct diff_stack *s)
{
	return s->events[AFTER] > s->events[BEFORE] ? s->events[AFTER] - s->events[BEFORE] :
						      s->events[BEFORE] - s->events[AFTER];
}

static enum change change_kind(const struct diff *d, const struct diff_stack *s)
{
	double change = d->side[AFTER]->percent ? share_change(d, s) :
			s->events[AFTER] > s->events[BEFORE] ? 1 : -(double)events_change(s);

	if (!s->events[BEFORE] || !s->events[AFTER])
		return s->events[AFTER] ? NEW : GONE;
	return change > 0 ? MORE : change < 0 ? FEWER : EQUAL;
}

static int by_change(const void *a, const void *b, void *diff)
{
	const struct diff *d = diff;
	double x = share_change(d, a), y = share_change(d, b);
	int c = compare_u64(events_change(a), events_change(b));

	if (d->side[AFTER]->percent) {
		x = x < 0 ? -x : x;
		y = y < 0 ? -y : y;
		c = x < y ? -1 : x > y;
	}
	return c ?: by_text(a, b);
}

void diff_make(struct diff *d)
{
	struct stack *stack;
	size_t i, n;
	int side;

	d->profile.diff = true;
	d->same_build = same_build(d->side[BEFORE]->record, d->side[AFTER]->record);
	for (side = BEFORE; side < SIDES; side++)
		for (i = 0; (stack = stacks_next(&d->side[side]->record->stacks, &i)); ) {
			u64 events = stack_events(stack);

			if (!events)
				continue;
			GROW(d->profile.total, d->profile.nr);
			d->profile.total[d->profile.nr++] = (struct stack_total){
				.stack = stack, .events = events, .before = side == BEFORE };
			symbols_name(d->side[side]->symbols, stack);
			GROW(d->stack, d->nr);
			d->stack[d->nr] = (struct diff_stack){
				.text = stack_text(d, stack, side, !d->same_build, ""),
				.stack = stack, .side = side };
			d->stack[d->nr++].events[side] = events;
			d->events[side] += events;
			d->stacks[side]++;
		}
	if (!d->nr)
		return;
	sort(d->stack, d->nr, sizeof(*d->stack), by_text);
	for (i = 1, n = 0; i < d->nr; i++) {
		if (by_text(&d->stack[n], &d->stack[i])) {
			d->stack[++n] = d->stack[i];
			continue;
		}
		for (side = BEFORE; side < SIDES; side++)
			d->stack[n].events[side] += d->stack[i].events[side];
		free(d->stack[i].text);
	}
	d->nr = n + 1;
	sort_with(d->stack, d->nr, sizeof(*d->stack), by_change, d);
}

void diff_free(struct diff *d)
{
	while (d->nr)
		free(d->stack[--d->nr].text);
	free(d->stack);
	free(d->profile.total);
}

/* Print the frames outermost first, without offsets */
static void print_folded(const struct diff *d, const struct diff_stack *s, FILE *f)
{
	unsigned int i;

	if (s->stack->cut)
		fputs(FRAMES_CUT ";", f);
	if (s->stack->gone)
		fputs(GONE_STACKS, f);
	for (i = s->stack->named; i--; ) {
		print_frame(d, s->stack, s->side, i, true, f);
		if (i)
			putc(';', f);
	}
	fprintf(f, " %llu %llu\n", s->events[BEFORE], s->events[AFTER]);
}

static void print_json(const struct diff *d, const struct diff_stack *s)
{
	json_t *j = json_object(), *frames = json_array();
	char *text = stack_text(d, s->stack, s->side, false, ""), *line, *rest = text;

	while ((line = strsep(&rest, "\n")) && rest)
		json_array_append_new(frames, json_string(line));
	free(text);
	json_object_set_new(j, "change", json_string(change_name[change_kind(d, s)]));
	json_object_set_new(j, "before", json_number(s->events[BEFORE]));
	json_object_set_new(j, "after", json_number(s->events[AFTER]));
	if (d->side[AFTER]->percent) {
		json_object_set_new(j, "percent_before",
				    json_real(share(d, s->events[BEFORE], BEFORE)));
		json_object_set_new(j, "percent_after",
				    json_real(share(d, s->events[AFTER], AFTER)));
	}
	json_object_set_new(j, "frames", frames);
	json_print(d->side[AFTER], j, NULL, 0);
}

static void print_text(const struct diff *d, const struct diff_stack *s)
{
	const char *kind = change_name[change_kind(d, s)];
	char *text = stack_text(d, s->stack, s->side, false, "  ");
	FILE *f = d->side[AFTER]->file;

	fputs(text, f);
	free(text);
	if (d->side[AFTER]->percent)
		fprintf(f, "    %.2f %% -> %.2f %%  %+.2f  (%s)\n\n",
			share(d, s->events[BEFORE], BEFORE), share(d, s->events[AFTER], AFTER),
			share_change(d, s), kind);
	else
		fprintf(f, "    %llu -> %llu  %c%llu  (%s)\n\n", s->events[BEFORE],
			s->events[AFTER], s->events[AFTER] < s->events[BEFORE] ? '-' : '+',
			events_change(s), kind);
}

static void print_head(const struct diff *d, int side)
{
	const struct record *r = d->side[side]->record;
	char when[64];

	fprintf(d->side[AFTER]->file, "%s %s: %llu events, %zu stacks", side == BEFORE ? "---" : "+++",
		d->name[side], d->events[side], d->stacks[side]);
	if (r->have_info)
		fprintf(d->side[AFTER]->file, ", Linux %s, loaded %s", r->info.release,
			output_day(r->info.load_realtime_ns, when, sizeof(when)));
	putc('\n', d->side[AFTER]->file);
}

void diff_print(const struct diff *d)
{
	const struct output *o = d->side[AFTER];
	size_t number[CHANGES] = { 0 }, changed = 0, i;

	for (i = 0; i < d->nr; i++)
		number[change_kind(d, &d->stack[i])]++;
	changed = d->nr - number[EQUAL];
	if (o->format == FORMAT_TEXT) {
		print_head(d, BEFORE);
		print_head(d, AFTER);
		putc('\n', o->file);
	}
	for (i = 0; i < d->nr; i++) {
		/* Equal stacks come first */
		if (o->top && d->nr - i > o->top)
			continue;
		if (o->format == FORMAT_FOLDED)
			print_folded(d, &d->stack[i], o->file);
		else if (i < d->nr - changed)
			continue;
		else if (o->format == FORMAT_JSON)
			print_json(d, &d->stack[i]);
		else
			print_text(d, &d->stack[i]);
	}
	if (o->format == FORMAT_TEXT)
		fprintf(o->file, "%zu new, %zu gone, %zu more, %zu fewer, %zu equal\n", number[NEW],
			number[GONE], number[MORE], number[FEWER], number[EQUAL]);
}
