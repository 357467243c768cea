# A thin front: meson does the building, scripts/check the checking.
MAKEFLAGS += --no-print-directory
BUILD ?= build
MESON_FLAGS ?=

.PHONY: all demo check check-long format format-check tidy docs install clean

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) bulkhead

$(BUILD)/build.ninja:
	@command -v meson >/dev/null && command -v ninja >/dev/null || \
		{ echo "meson and ninja are needed; scripts/dependencies build installs what a build needs" >&2; exit 1; }
	meson setup $(BUILD) $(MESON_FLAGS)

# SUITE=unit (or source, fuzz, kernel, system; several with commas) runs only that.
check:
	@scripts/check $(if $(SUITE),--suite $(SUITE))

check-long:
	@scripts/check --long $(if $(SUITE),--suite $(SUITE))

demo:
	@scripts/dependencies build demo
	@$(MAKE) all
	@scripts/demo

format:
	clang-format -i $$(find src tests bench -name '*.[ch]')

format-check:
	@clang-format --dry-run --Werror $$(find src tests bench -name '*.[ch]')

tidy: $(BUILD)/build.ninja
	@# clang 14 takes the compiler's -ftrivial-auto-var-init=zero only together with this.
	clang-tidy -p $(BUILD) --quiet \
		--extra-arg=-enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang $$(find src -name '*.c')

# Pages that are written by the program's own tables.
docs: $(BUILD)/build.ninja
	@ninja -C $(BUILD) src/filter_gen
	$(BUILD)/src/filter_gen --doc >docs/syscalls.md

install: all
	meson install -C $(BUILD) --no-rebuild

clean:
	rm -rf build build-asan build-check
