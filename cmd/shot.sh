for w in 1280 390; do chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=$w,1900 --screenshot=/tmp/he/gaps-$w.png file:///tmp/he/gaps.html 2>/dev/null; done
